"""Finds the best partition into groups. There is one strategy per file; all have the same candidates and costs."""
