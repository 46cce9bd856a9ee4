"""Fields of a requantisation record that tell a scale: ``M / 2^S``, mantissa and shift (docs/machine.md)."""

from __future__ import annotations

MANTISSA_BITS = 24
SHIFT_BITS = 6
MOST_SHIFT = (1 << SHIFT_BITS) - 1
ONE_SHIFT = MANTISSA_BITS - 1
ONE = 1 << ONE_SHIFT
"""``ONE / 2^ONE_SHIFT`` is 1. Lanes that only shift take every mantissa for ``ONE``."""
