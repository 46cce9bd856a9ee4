"""A lane whose scales are powers of two. It does steps 1 to 5 of docs/reference/semantics.md without a multiplier.

Its mantissas are ``2^23`` and ``2^25``. The product of step 3 has the 24 significant bits of ``a``, so step 4 changes nothing
and rounding once is enough. The magnitude is first shifted up by as much as the greatest scale does. Then it is shifted down by
four times the nibbles and by what the scale is less, two bits of the record. Of the result 15 bits and the one worth 1/2 are
kept, and whether any bit below or above them is set. The shift is by 16, by 4 and by 1, each with a 4:1 multiplexer.
"""

from __future__ import annotations

from typing import Any

from amaranth import Cat, Const, Module, Mux, Signal, Value

from hw.arithmetic.adders import adders_of
from hw.post.lane import INTEGER, FinishingLane
from isa.config import MachineConfig
from isa.latency import SHIFT
from isa.requantisation import MANTISSA_BITS

_KEPT = INTEGER + 1
_MAGNITUDE = 32
_UP = MANTISSA_BITS
"""The places by which the magnitude is shifted up. The greatest scale is ``2 * 2^25``."""


class ShiftLane(FinishingLane):
    """``r = saturate16(float32(acc + bias) * 2^doubled * M / 16^nibbles)``, ties to even; with ``bypass`` ``saturate16(acc)``.

    A mantissa whose highest bit is set is 2^25, every other one 2^23. The latency is ``isa.latency.SHIFT`` cycles. It never
    stalls.

    ======  =====================================
    0       sum with the bias
    1       what is lost of its magnitude
    2       magnitude, rounded to 24 bits
    3       shift by multiples of 16 and of 4
    4       shift by up to 3; which way to round
    5       rounding, sign, saturation
    ======  =====================================
    """

    def __init__(self, config: MachineConfig) -> None:
        self._config = config
        super().__init__(SHIFT)

    def elaborate(self, platform: Any) -> Module:
        m = Module()
        total = self._total(m, adders_of(platform, self._config))
        shifts = [Signal(6, name=f"shift_{stage}", reset_less=True) for stage in range(3)]
        with m.If(self.advance[0]):
            less = Cat(~self.param.doubled, ~self.param.mantissa[-1], self.param.nibbles)
            m.d.sync += shifts[0].eq(Mux(self.bypass, _UP, less))
        for stage in (1, 2):
            with m.If(self.advance[stage]):
                m.d.sync += shifts[stage].eq(shifts[stage - 1])
        rounded, negative_1, _ = self._significant(m, total, Const(0, 1))
        magnitude = Signal(_MAGNITUDE, reset_less=True)
        negative_2 = Signal(reset_less=True)
        with m.If(self.advance[2]):
            m.d.sync += [magnitude.eq(rounded), negative_2.eq(negative_1)]

        wide, by_1, below, above, negative = self._coarse(m, magnitude, shifts[2], negative_2)
        kept = Signal(_KEPT)
        m.d.comb += kept.eq(wide.bit_select(by_1, _KEPT))
        sticky = below | Cat(wide[n] & (by_1 > n) for n in range(3)).any()
        overflow = above | Cat(wide[_KEPT + n] & (by_1 <= n) for n in range(3)).any()
        half, whole = kept[0], kept[1:]
        self._finish(m, whole, half & (sticky | whole[0]), overflow, negative)
        return m

    def _coarse(
        self, m: Module, magnitude: Signal, shift: Signal, negative: Signal
    ) -> tuple[Signal, Signal, Signal, Signal, Signal]:
        """Stage 3: the bits that a shift by up to 3 chooses from, that shift, whether bits below and above them are set, and
        the sign."""
        by_16, by_4 = shift[4:], shift[2:4]
        # The lowest bit is worth 1/2 where nothing is shifted.
        padded = Cat(Const(0, 1 + _UP), magnitude, Const(0, 64))
        first = Signal(_KEPT + 15)
        chosen = Signal(_KEPT + 3)
        m.d.comb += [
            first.eq(padded.bit_select(by_16 << 4, len(first))),
            chosen.eq(first.bit_select(by_4 << 2, len(chosen))),
        ]
        lost = [_beyond(padded, len(first), by_16, 16), _beyond(first, len(chosen), by_4, 4)]
        wide = Signal(len(chosen), reset_less=True)
        by_1 = Signal(2, reset_less=True)
        below, above, sign = (Signal(name=name, reset_less=True) for name in ("below", "above", "negative"))
        with m.If(self.advance[3]):
            m.d.sync += [
                wide.eq(chosen), by_1.eq(shift[:2]), sign.eq(negative),
                below.eq(lost[0][0] | lost[1][0]), above.eq(lost[0][1] | lost[1][1]),
            ]  # fmt: skip
        return wide, by_1, below, above, sign


def _beyond(value: Value, kept: int, steps: Value, places: int) -> tuple[Value, Value]:
    """Whether ``value`` has bits below and above the ``kept`` ones when it is shifted down by ``steps * places``."""
    below = Cat((steps == n) & value[: n * places].any() for n in range(1, 4)).any()
    above = Cat((steps == n) & value[n * places + kept :].any() for n in range(4)).any()
    return below, above
