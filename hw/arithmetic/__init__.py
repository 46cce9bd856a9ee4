"""Sums and products as FPGAs make them best: packed, along cascades of DSPs, with operands chosen on the way."""
