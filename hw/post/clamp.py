"""Zero-point and clamp: step 6 of docs/reference/semantics.md, with bounds that the zero-point is taken off beforehand."""

from __future__ import annotations

from amaranth import Mux, Value


def clamped(r: Value, least: Value, most: Value, zp: Value) -> Value:
    """``clamp(r, least, most) + zp`` in eight bits. ``r`` has 16 bits, the bounds nine, and ``least`` is not above ``most``.

    Nine bits of ``r`` are compared. Where they do not hold ``r``, its sign says which bound it exceeds.
    """
    far = ~(r[8:].all() | ~r[8:].any())
    few = r[:9].as_signed()
    below = Mux(far, r[15], few < least)
    above = Mux(far, ~r[15], few > most)
    bounded = Mux(below, least[:8], Mux(above, most[:8], r[:8]))
    return (zp + bounded)[:8]
