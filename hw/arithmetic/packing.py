"""Two products in one multiplier. Both share an operand, and the other two lie side by side in one wide word.

``(high << 18) + low`` times ``shared`` is ``(high * shared << 18) + low * shared``: a 27 x 18 bit multiplier holds the pair.
The low halves of up to ``TERMS`` such products add up to no more than 2^17 and no less than ``-TERMS * 128 * 127``. With
``SEED`` added once to such a sum, its low half is never negative and never leaves its 18 bits. So it borrows nothing from the
high half, and both halves come apart without an adder.

::

    bit  36 ........ 18 17 ............ 0
         high sum       low sum + SEED
"""

from __future__ import annotations

from amaranth import Cat, Value

from isa.config import PACKED_TERMS

GAP = 18
TERMS = PACKED_TERMS
SEED = (1 << GAP - 1) - 1
"""The number from which a sum of packed products starts."""
assert TERMS * 128 * 128 + SEED < 1 << GAP, "the largest low sum leaves its bits"
assert SEED - TERMS * 128 * 127 >= 0, "the smallest low sum borrows from the high one"


def pack(high: Value, low: Value) -> Value:
    """The word that makes both products when it is multiplied."""
    return high.shift_left(GAP) + low


def unpack(total: Value) -> tuple[Value, Value]:
    """The sum of the high products, and that of the low ones less one, taken from a sum that began with ``SEED``."""
    return total[GAP:].as_signed(), Cat(total[: GAP - 1], ~total[GAP - 1]).as_signed()
