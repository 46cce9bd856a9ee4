"""Memory-aware scheduling of a graph: the integer programme of its orders."""
