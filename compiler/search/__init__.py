"""Which partition into groups is best: one strategy per file, all with the same candidates and costs."""
