"""XGraph: the framework-independent graph of coarse operations that every compiler stage reads and writes."""
