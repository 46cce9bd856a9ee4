"""Zero-point and clamp: step 6 of docs/reference/semantics.md. The zero-point has been subtracted from the bounds."""

from __future__ import annotations

from amaranth import Mux, Value

from hw.arithmetic.sums import chosen_sum, extended


def clamped(r: Value, least: Value, most: Value, zp: Value) -> Value:
    """``clamp(r, least, most) + zp`` in eight bits. ``r`` has 16 bits, the bounds have nine, and ``least`` is not above
    ``most``.

    Nine bits of ``r`` are compared. Where they are too few for ``r``, its sign says which bound it exceeds.
    """
    far = ~(r[8:].all() | ~r[8:].any())
    few = extended(r[:9].as_signed(), 10)
    # Signs of few - least and most - few; the inverted operand goes into the LUTs of the carry chain.
    below = Mux(far, r[15], chosen_sum(~extended(least, 10), few, 1)[9])
    above = Mux(far, ~r[15], chosen_sum(extended(most, 10), ~few, 1)[9])
    bounded = Mux(below, least[:8], Mux(above, most[:8], r[:8]))
    return chosen_sum(zp, bounded)


def clamped16(r: Value, least: Value, most: Value, zp: Value) -> Value:
    """The same in sixteen bits. ``r`` and the bounds have 17."""
    whole = extended(r, 18)
    below = chosen_sum(~extended(least, 18), whole, 1)[17]
    above = chosen_sum(extended(most, 18), ~whole, 1)[17]
    bounded = Mux(below, least[:16], Mux(above, most[:16], r[:16]))
    return chosen_sum(zp, bounded)
