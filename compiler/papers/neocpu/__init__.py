"""NeoCPU: schemes of operations, chosen locally and then for the whole graph."""
