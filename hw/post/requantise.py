"""Requantisation of one lane: steps 1 to 5 of docs/reference/semantics.md, int32 accumulator to int16.

**Rounding once is rounding twice, except beside a tie.** The exact result is ``v = |a| 2^doubled M / 16^nibbles``. The
machine rounds ``v`` to 24 significant bits and then to an integer. Let ``h = floor(v)``. Saturation to int16 leaves
``h < 2^15`` to look at, and there every half-integer has a 24-bit significand, so the first rounding never carries ``v`` across
``h + 1/2``: it can only put it exactly onto it. Hence

    r = even of h, h + 1   if the first rounding makes v the half-integer h + 1/2
    r = h + (v > h + 1/2)  else

and the first rounding does so exactly if ``|v - (h + 1/2)| <= 2^-c``, half a unit of the 24th bit. Equality is included,
because the significand of ``h + 1/2`` is even. ``c = 25 - I``, where ``I`` is the number of bits of ``h``. Below 1/2 the unit
is half as large, but there both make 0. So there is no normalisation and no second adder.

Let ``f`` be the 24 bits of ``v`` behind the one that is worth 1/2, and ``rest`` the bits that follow. Above the tie ``f`` is
less than ``2^I``, or it is ``2^I`` and ``rest`` is 0. Below the tie ``f`` with all bits inverted is less than ``2^I`` (if
``I = 0`` that changes nothing, because ``h`` is even). ``2^I - 1`` is the thermometer of ``h``.

**One shift.** The shift is by a multiple of 4 bits, so it takes two rows of 4:1 multiplexers. The factors hold the rest of a
scale's exponent. The magnitude is doubled where it is rounded (it loses a bit more, and that bit is zero). A significand of 24
bits lies in ``M`` up to two places higher. Both still fit 27 x 18 DSPs. Of ``v`` the bits from 2^14 to 2^-25 are kept, and
whether there are others (``sticky``). The two products are joined 17 bits apart, by the cascade of DSPs, or at twice the clock
by the feedback of one DSP.
"""

from __future__ import annotations

from typing import Any

from amaranth import Cat, Const, Module, Mux, Signal, Value

from hw.arithmetic.adders import adders_of
from hw.arithmetic.cascade import cascades_of
from hw.arithmetic.choice import pick
from hw.arithmetic.doubled import doubled_cascades
from hw.arithmetic.dsp48e2 import Enables, Halves
from hw.arithmetic.thermometer import thermometer
from hw.post.lane import COARSE, FinishingLane
from isa.config import MachineConfig
from isa.latency import requantise_latency
from isa.requantisation import MANTISSA_BITS, NIBBLES_BITS, SUM_BITS

FRACTION = 25
_PRODUCT_BITS = 58
_AFTER = 3
"""The stages behind the product."""


class RequantiseLane(FinishingLane):
    """``r = saturate16(float32(float32(acc + bias) * 2^doubled * M) / 16^nibbles)``, ties to even; with ``bypass``
    ``saturate16(acc)``.

    The latency is ``requantise_latency`` cycles. It never stalls.

    ======  ==========================================================================
    0       sum with the bias
    1       what is lost of its magnitude, which may be doubled, and what rounds it
    2       magnitude, rounded
    3, 4    two products, their sum; with ``array_clock`` 2 one after the other in one DSP, 3 to 5
    5       shift by multiples of 16 and of 4; thermometer of the integer part
    6       which way to round
    7       rounding, sign, saturation
    ======  ==========================================================================

    ``second_half`` is the signal of ``hw/arithmetic/doubled.py``.
    """

    def __init__(self, config: MachineConfig, bits: int = SUM_BITS) -> None:
        self._config = config
        self._doubled = config.array_clock > 1
        super().__init__(requantise_latency(config), bits=bits, halves=self._doubled)

    def elaborate(self, platform: Any) -> Module:
        m = Module()
        magnitude, mantissa, nibbles, negative = self._operands(m, platform)
        product = self._product(m, platform, mantissa, magnitude)
        for stage in range(2, self.latency - _AFTER):
            nibbles, negative = _later(m, self.advance[stage], stage, nibbles, negative)
        self._round(m, *self._window(m, product, nibbles, negative))
        return m

    def _product(self, m: Module, platform: Any, mantissa: Value, magnitude: Value) -> Value:
        """The product, which stages 2 to 4 make, or 2 to 5."""
        if not self._doubled:
            enables = Enables(self.advance[2], self.advance[3], self.advance[4])
            return cascades_of(platform).product(m, mantissa, magnitude, enables, _PRODUCT_BITS)
        mantissa_2 = Signal(len(mantissa), reset_less=True)
        magnitude_2 = Signal(len(magnitude), reset_less=True)
        with m.If(self.advance[2]):
            m.d.sync += [mantissa_2.eq(mantissa), magnitude_2.eq(magnitude)]
        multiplier = doubled_cascades(platform, Halves(~self.second_half, self.second_half))
        return multiplier.wide_product(m, mantissa_2, magnitude_2, _PRODUCT_BITS)

    def _operands(self, m: Module, platform: Any) -> tuple[Value, Signal, Signal, Signal]:
        """Stages 0 and 1, and the operands of stage 2: the magnitude of 24 significant bits, the mantissa, the nibbles to shift
        by, and the sign."""
        # Bypass is a scale of 1: float32 is exact wherever int16 does not saturate.
        total = self._total(m, adders_of(platform, self._config))
        mantissa = Signal(MANTISSA_BITS, reset_less=True)
        nibbles = Signal(NIBBLES_BITS, reset_less=True)
        doubled = Signal(reset_less=True)
        with m.If(self.advance[0]):
            m.d.sync += [mantissa.eq(self.param.mantissa), nibbles.eq(self.param.nibbles), doubled.eq(self.param.doubled)]
            with m.If(self.bypass):
                m.d.sync += [mantissa.eq(1), nibbles.eq(0), doubled.eq(0)]

        magnitude, negative, lost = self._significant(m, total, doubled)
        mantissa_1 = Signal(MANTISSA_BITS, reset_less=True)
        nibbles_1 = Signal(NIBBLES_BITS, reset_less=True)
        with m.If(self.advance[1]):
            m.d.sync += [mantissa_1.eq(mantissa), nibbles_1.eq(nibbles)]
            if self.bits > SUM_BITS:
                # A nibble was dropped. Where there is none to shift by, the result saturates either way.
                with m.If(lost[COARSE - 1] & nibbles.any()):
                    m.d.sync += nibbles_1.eq(nibbles - 1)
        return magnitude, mantissa_1, nibbles_1, negative

    def _window(
        self, m: Module, product: Value, nibbles: Signal, negative: Signal
    ) -> tuple[Signal, Signal, Signal, Signal, Signal]:
        """The stage behind the product: ``integer`` and ``FRACTION`` bits of the shifted product, ``2^I - 1``, and whether bits
        are lost on each side."""
        by_16, by_4 = nibbles[2:], nibbles[:2]
        kept = self.integer + FRACTION
        above = self.integer + 12
        padded = Cat(Const(0, FRACTION), product, Const(0, 64))
        wide = Signal(kept + 12)
        m.d.comb += wide.eq(pick([padded[16 * n : 16 * n + kept + 12] for n in range(4)], by_16))
        lost_below = [(by_16[1] & product[:7].any()) | ((by_16 == 3) & product[7:23].any())]
        lost_below += [wide[4 * n : 4 * n + 4].any() & (by_4 > n) for n in range(3)]
        lost_above = [~by_16[1] & (product[above + 16 :].any() | (~by_16[0] & product[above : above + 16].any()))]
        lost_above += [wide[kept + 4 * n : kept + 4 * n + 4].any() & (by_4 <= n) for n in range(3)]
        chosen = Signal(kept)
        m.d.comb += chosen.eq(wide.bit_select(by_4 << 2, kept))
        window = Signal(kept, reset_less=True)
        digits = Signal(self.integer, reset_less=True)
        sticky, overflow, negative_5 = (Signal(name=name, reset_less=True) for name in ("sticky", "overflow", "negative_5"))
        with m.If(self.advance[-3]):
            m.d.sync += [
                window.eq(chosen),
                digits.eq(thermometer(chosen[FRACTION:])),
                sticky.eq(Cat(lost_below).any()),
                overflow.eq(Cat(lost_above).any()),
                negative_5.eq(negative),
            ]
        return window, digits, sticky, overflow, negative_5

    def _round(self, m: Module, window: Signal, digits: Signal, sticky: Signal, overflow: Signal, negative: Signal) -> None:
        """Decides which way to round. The head of this file has the proof."""
        whole, half, f = window[FRACTION:], window[FRACTION - 1], window[: FRACTION - 1]
        outside = Cat(~digits, Const(-1, 24 - self.integer))
        highest = Cat(Const(1, 1), digits) & Cat(~digits, Const(1, 1))
        short = Signal()
        power = Signal()
        tie = Signal()
        m.d.comb += [
            short.eq(~((f ^ (~half).replicate(24)) & outside).any()),
            power.eq(~(f & ~Cat(highest, Const(0, 24 - self.integer - 1))).any() & ~sticky),
            tie.eq(short | half & power),
        ]
        self._finish(m, whole, Mux(tie, whole[0], half), overflow, negative)


def _later(m: Module, advance: Value, stage: int, nibbles: Signal, negative: Signal) -> tuple[Signal, Signal]:
    """The values that travel beside the product, a stage later."""
    found = Signal(NIBBLES_BITS, name=f"nibbles_{stage}", reset_less=True), Signal(name=f"negative_{stage}", reset_less=True)
    with m.If(advance):
        m.d.sync += [found[0].eq(nibbles), found[1].eq(negative)]
    return found
