"""NeoCPU: schemes of operations, chosen first for each group and then for the whole graph."""
