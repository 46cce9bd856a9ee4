"""Which machine for these networks on this chip: a Pareto front, certified as far as bounds go."""
