"""Two products in one multiplier: both share an operand, the other two ride in one wide word.

``(high << 18) + low`` times ``shared`` is ``(high * shared << 18) + low * shared``. A sum of up to
``TERMS`` such products keeps its low half within 18 bits; that half borrows one from the high half
when it is negative, which ``unpack`` gives back. A 27 x 18 bit multiplier holds the pair.

::

    bit  36 ....... 18 17 ...... 0
         high sum - b  low sum        b = 1 if the low sum is negative
"""

from __future__ import annotations

from amaranth import Value

GAP = 18
TERMS = (2 ** (GAP - 1) - 1) // (128 * 128)
"""Packed products that may be added before they must be unpacked: int8 products reach 128 * 128."""


def pack(high: Value, low: Value, shared: Value) -> Value:
    """Both products of int8 operands in one."""
    return (high.shift_left(GAP) + low) * shared


def unpack(total: Value) -> tuple[Value, Value]:
    """The sums of the high and of the low products."""
    return total[GAP:].as_signed() + total[GAP - 1], total[:GAP].as_signed()
