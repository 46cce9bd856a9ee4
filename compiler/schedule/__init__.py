"""Order and tokens: from instructions with accesses to a sequential program that overlaps as far as hazards let it."""
