"""Makes a program of a graph and a choice of groups."""
