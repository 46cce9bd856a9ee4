"""The parts that all finishing lanes share: the sum with its bias, 24 significant bits of it, and the rounded, saturated end.

**Rounding in place.** Step 2 of docs/reference/semantics.md rounds ``t`` to 24 significant bits. Nothing is normalised. After
half a unit has been added, those low bits (of seven, for a sum of 32) are cleared that ``|t|`` has beyond 24. A thermometer of
its high bits tells which (``lost``). The value keeps its scale. Let ``y = |t|`` if ``t >= 0`` and ``|t| - 1`` (all bits
inverted) if not. Let ``e`` bits be lost and ``h = 2^(e-1)``. Then ties to even means ``floor(y + (h - 1) + y_e)`` and
``floor(y + h + y_e)``. So one addition takes the sign off and rounds the magnitude.
"""

from __future__ import annotations

from amaranth import Cat, Const, Module, Mux, Signal, Value, signed
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from hw.arithmetic.adders import Adders
from hw.arithmetic.sums import chosen_sum, extended
from hw.arithmetic.thermometer import highest, thermometer
from isa.requantisation import BIAS_BITS, MANTISSA_BITS, NIBBLES_BITS, SCALE_BITS, SUM_BITS

INTEGER = 15
COARSE = 4
"""The bits that are dropped of a longer sum's magnitude where it has lost as many, so that it fits the multiplier."""

RECORD = data.StructLayout({
    "bias": signed(BIAS_BITS), "mantissa": MANTISSA_BITS, "nibbles": NIBBLES_BITS, "doubled": 1, "_": 1
})  # fmt: skip
"""A lane's requantisation record, as parameter words hold it."""


class FinishingLane(wiring.Component):
    """Turns a sum into int16, or into 17 bits where sums are long, in ``latency`` cycles. With ``bypass`` it only saturates.

    Stage ``n`` takes its input when ``advance[n]`` is high. So all lanes of a vector share one control, and stages without a
    vector rest. It never stalls.
    """

    def __init__(self, latency: int, *, bits: int = SUM_BITS, halves: bool = False) -> None:
        """``bits`` is the width of a sum. With ``halves`` an input tells in which half of a cycle of twice the clock the lane
        is (``hw/arithmetic/doubled.py``)."""
        self.latency = latency
        self.bits = bits
        self.extra = bits - 1 - SCALE_BITS
        """The bits of a magnitude beyond the significant ones."""
        self.integer = INTEGER + (bits > SUM_BITS)
        """The bits of a result's magnitude: those of an int16, or of its difference to a zero-point of as many bits."""
        super().__init__({
            "advance": In(latency),
            **({"second_half": In(1)} if halves else {}),
            "acc": In(signed(bits)),
            "param": In(RECORD),
            "bypass": In(1),
            "r": Out(signed(self.integer + 1)),
        })

    def _total(self, m: Module, adders: Adders) -> Value:
        """Stage 0, which is step 1. With bypass there is no bias."""
        bias: Value = self.param.bias
        if self.bits > BIAS_BITS:
            bias = extended(bias, self.bits).as_signed()
        return adders.sum(m, self.acc, bias, ~self.bypass, self.advance[0], "total")

    def _significant(self, m: Module, total: Value, doubled: Value) -> tuple[Value, Signal, Signal]:
        """Stage 1, and the operands of stage 2: the magnitude in 24 significant bits (twice of it if ``doubled``) and the sign.
        Also ``lost``, which stage 1 finds: bit ``n`` is set if more than ``n`` bits are lost."""
        extra = self.extra
        sign = total[self.bits - 1]
        high = total[SCALE_BITS : self.bits - 1] ^ sign.replicate(extra)
        beyond = Signal(extra)
        lost = Signal(extra + 1)
        tops = Signal(extra + 1)
        even = (total[1 : 1 + extra] & highest(beyond)).any()
        m.d.comb += [
            beyond.eq(thermometer(high)),
            lost.eq(Mux(doubled, Cat(beyond[0], beyond), beyond)),
            tops.eq(highest(lost)),
        ]
        value = Signal(self.bits, reset_less=True)
        doubled_1 = Signal(reset_less=True)
        beyond_1 = Signal(extra, reset_less=True)
        up = Signal(extra + 1, reset_less=True)
        carry = Signal(reset_less=True)
        negative = Signal(reset_less=True)
        with m.If(self.advance[1]):
            m.d.sync += [
                value.eq(total),
                doubled_1.eq(doubled),
                beyond_1.eq(beyond),
                up.eq(Mux(sign, tops, lost[1:])),
                carry.eq(even ^ sign),
                negative.eq(sign),
            ]
        width = self.bits + 1
        inverted = Mux(doubled_1, Cat(Const(0, 1), value), Cat(value, negative)) ^ negative.replicate(width)
        rounded = Signal(width)
        m.d.comb += rounded.eq(chosen_sum(Cat(up, Const(0, width - len(up))), inverted, carry))
        lost_1 = Mux(doubled_1, Cat(beyond_1[0], beyond_1), beyond_1)
        magnitude = Cat(rounded[: 1 + extra] & ~lost_1, rounded[1 + extra :])
        if self.bits > SUM_BITS:
            magnitude = Mux(lost_1[COARSE - 1], magnitude[COARSE:], magnitude[: SUM_BITS + 1])
        return magnitude, negative, lost

    def _finish(self, m: Module, whole: Value, up: Value, overflow: Value, negative: Value) -> None:
        """The last two stages: rounds ``integer`` bits ``up`` or not, applies the sign, saturates."""
        away, sign, full = (Signal(name=name, reset_less=True) for name in ("away", "sign", "full"))
        # ~h where the result is negative: -(h + up) = ~h + 1 - up, so that one adder rounds and negates.
        integer = self.integer
        down = Signal(integer + 1, reset_less=True)
        with m.If(self.advance[-2]):
            m.d.sync += [
                away.eq(overflow | up),
                down.eq(Cat(whole | overflow.replicate(integer), Const(0, 1)) ^ negative.replicate(integer + 1)),
                sign.eq(negative),
                full.eq(overflow | whole.all()),
            ]
        step = Mux(sign, ~away, away & ~full)
        r = Signal(signed(integer + 1), reset_less=True)
        m.d.comb += self.r.eq(r)
        with m.If(self.advance[-1]):
            m.d.sync += r.eq((down + step)[: integer + 1].as_signed())
