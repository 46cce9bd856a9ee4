"""Finds machines for networks on a chip: a Pareto front, certified as far as bounds go."""
