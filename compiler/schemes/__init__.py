"""Which of several schemes each group of a partition gets: found for the group, chosen for the whole program (NeoCPU)."""
