"""The compiler's tuned numbers."""

CHARGES = (1, -1, 300, -300)
MARGIN = 1 / 7
LEAN_PART = 10 / 3
