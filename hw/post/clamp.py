"""Zero-point and clamp: step 7 of docs/reference/semantics.md, with bounds that the zero-point is taken off beforehand."""

from __future__ import annotations

from dataclasses import dataclass

from amaranth import Mux, Value

from hw.arithmetic.cascade import Nearest
from hw.arithmetic.sums import chosen_sum, extended


@dataclass(frozen=True)
class Bounds:
    """``least`` and ``most`` of ``r`` instead of ``r + zp``, in nine bits; ``least`` is not above ``most``."""

    least: Value
    most: Value
    zp: Value

    def clamped(self, found: Nearest) -> Value:
        """The whole number, or the bound that it is beyond, and ``zp``: eight bits. Nine bits of the number suffice: where they
        do not, it is beyond one."""
        whole = found.whole
        far = ~(whole[8:].all() | ~whole[8:].any())
        # few - least and most - few, whose carry chains take the inverted operands in; only their signs count. Whether few
        # is one less is a carry of the first one; if that takes few to most, most is what comes out all the same.
        few = extended(found.above[:9].as_signed(), 10)
        below = Mux(far, whole[15], chosen_sum(~extended(self.least, 10), few, 1 if found.less is None else ~found.less)[9])
        above = Mux(far, ~whole[15], chosen_sum(extended(self.most, 10), ~few, 1)[9])
        bounded = Mux(below, self.least[:8], Mux(above, self.most[:8], whole[:8]))
        return chosen_sum(self.zp, bounded)
