"""Requantisation of one lane: steps 1 to 5 of docs/machine.md, int32 accumulator to int16.

**Rounding once is rounding twice, except beside a tie.** With ``k = S - e`` (``e``: the exponent that
step 2 shifted out) the exact result is ``v = |a| M / 2^k``. The machine rounds ``v`` to 24 significant
bits and then to an integer. Let ``h = floor(v)``. Saturation to int16 leaves ``h < 2^15`` to look at, and
there every half-integer has a 24-bit significand, so the first rounding never carries ``v`` across
``h + 1/2``: it can only put it exactly onto it. Hence

    r = even of h, h + 1   if the first rounding makes v the half-integer h + 1/2
    r = h + (v > h + 1/2)  else

and the first rounding does so just if ``|v - (h + 1/2)| <= 2^-c``, half a unit of the 24th bit: equality
included, because the significand of ``h + 1/2`` is even. ``c = 25 - I`` with ``I`` the bits of ``h``;
below 1/2 the unit is half as large: ``c = 26``. No second normalisation, no second adder.

In units of ``2^-49`` the distance is ``d`` above the tie and ``x + 1`` below it, where ``x`` is the fraction with
all bits inverted; so the test is ``d - 1 < 2^(24 + I)`` or ``x < 2^(24 + I)`` (``x < 2^23`` below 1/2). Of either the
part above bit 24 must be no longer than ``h``, and ``y`` is no longer than ``h`` just if ``(y & ~h) <= h``.

**One shift.** ``v`` is aligned as a 64-bit number with ``FRACTION`` = 49 fraction bits, which loses nothing:
``p < 2^48``, so for ``k > 49`` is ``v < 1/4`` and ``r = 0``. The fine part of the shift (0 to 7) is done on ``M``
before the multiplier, where it costs 31 multiplexers and still fits two 27 x 18 DSPs; the coarse part
moves whole bytes.
"""

from __future__ import annotations

from typing import Any

from amaranth import Cat, Const, Module, Mux, Signal, Value, signed
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

LATENCY = 8
"""Register stages of a lane."""
FRACTION = 49
INTEGER = 15
_DSP_BITS = 17
"""Unsigned bits that one DSP takes of the second factor."""

RECORD = data.StructLayout({"bias": signed(32), "mantissa": 24, "shift": 6, "_": 2})
"""A lane's requantisation record, as parameter words hold it."""


class RequantiseLane(wiring.Component):
    """``r = saturate16(float32(float32(acc + bias) * M) / 2^S)``, ties to even; with ``bypass`` ``saturate16(acc)``.

    Latency ``LATENCY`` cycles; stage ``n`` takes its input when ``advance[n]`` is high, so that all lanes of
    a vector share one control, and stages without a vector rest.
    """

    def __init__(self) -> None:
        super().__init__({
            "advance": In(LATENCY),
            "acc": In(signed(32)),
            "param": In(RECORD),
            "bypass": In(1),
            "r": Out(signed(16)),
        })

    def elaborate(self, platform: Any) -> Module:
        m = Module()

        # Bypass is M / 2^S = 1 without bias: float32 is exact wherever int16 does not saturate.
        used = ~self.bypass
        total = Signal(32)
        negative = [Signal(name=f"negative_{n}") for n in range(LATENCY - 1)]
        magnitude = Signal(32)
        mantissa_0 = Signal(24)
        shift_0 = Signal(6)
        m.d.comb += total.eq(self.acc + Mux(used, self.param.bias, 0))
        with m.If(self.advance[0]):
            m.d.sync += [
                negative[0].eq(total[31]),
                magnitude.eq(Mux(total[31], ~total, total) + total[31]),
                mantissa_0.eq(Mux(used, self.param.mantissa, 1)),
                shift_0.eq(Mux(used, self.param.shift, 0)),
            ]

        # Step 2: kept . lost, the point after the 24th significant bit; 2^31 is kept as 2^24 with exponent 7.
        exponent = Signal(3)
        normal = Signal(33)
        m.d.comb += [
            exponent.eq(_exponent(magnitude[24:])),
            normal.eq(Cat(Const(0, 8), magnitude) >> exponent),
        ]
        lost, kept_next = normal[:8], normal[8:]
        left_next = Signal(signed(8))
        m.d.comb += left_next.eq(FRACTION + exponent - shift_0)
        kept = Signal(25)
        increment = Signal()
        mantissa_1 = Signal(24)
        left_1 = Signal(6)
        with m.If(self.advance[1]):
            m.d.sync += [
                negative[1].eq(negative[0]),
                kept.eq(kept_next),
                increment.eq(lost[7] & (lost[:7].any() | kept_next[0])),
                mantissa_1.eq(Mux(left_next < 0, 0, mantissa_0)),
                left_1.eq(left_next[:6]),
            ]

        significand = Signal(25)
        factor = Signal(31)
        coarse = [Signal(3, name=f"coarse_{n}") for n in range(3)]
        with m.If(self.advance[2]):
            m.d.sync += [
                negative[2].eq(negative[1]),
                significand.eq(kept + increment),
                factor.eq(mantissa_1 << left_1[:3]),
                coarse[0].eq(left_1[3:]),
            ]

        low = Signal(25 + _DSP_BITS)
        high = Signal(25 + 31 - _DSP_BITS)
        with m.If(self.advance[3]):
            m.d.sync += [
                negative[3].eq(negative[2]),
                low.eq(significand * factor[:_DSP_BITS]),
                high.eq(significand * factor[_DSP_BITS:]),
                coarse[1].eq(coarse[0]),
            ]

        product = Signal(55)
        with m.If(self.advance[4]):
            m.d.sync += [
                negative[4].eq(negative[3]),
                product.eq(low + Cat(Const(0, _DSP_BITS), high)),
                coarse[2].eq(coarse[1]),
            ]

        by_8, by_16, by_32 = Signal(63), Signal(64), Signal(64)
        loses_16, loses_32 = Signal(), Signal()
        fixed = Signal(FRACTION + INTEGER)
        overflow = Signal()
        bytes_up = coarse[2]
        m.d.comb += [
            by_8.eq(Mux(bytes_up[0], Cat(Const(0, 8), product), product)),
            by_16.eq(Mux(bytes_up[1], Cat(Const(0, 16), by_8), by_8)),
            by_32.eq(Mux(bytes_up[2], Cat(Const(0, 32), by_16), by_16)),
            loses_16.eq(bytes_up[1] & by_8[48:].any()),
            loses_32.eq(bytes_up[2] & by_16[32:].any()),
        ]
        with m.If(self.advance[5]):
            m.d.sync += [negative[5].eq(negative[4]), fixed.eq(by_32), overflow.eq(loses_16 | loses_32)]

        whole = fixed[FRACTION:]
        above = fixed[FRACTION - 1]
        beside_tie = _beside_tie(m, fixed)
        round_up = Signal()
        saturated = Signal()
        # ~h where the result is negative: -(h + up) = ~h + 1 - up, so that one adder rounds and negates.
        rounded_down = Signal(signed(INTEGER + 1))
        with m.If(self.advance[6]):
            m.d.sync += [
                negative[6].eq(negative[5]),
                rounded_down.eq(Cat(whole, Const(0, 1)) ^ negative[5].replicate(INTEGER + 1)),
                round_up.eq(Mux(beside_tie, whole[0], above) ^ negative[5]),
                saturated.eq(overflow),
            ]

        rounded = Signal(16)
        m.d.comb += rounded.eq(rounded_down + round_up)
        with m.If(self.advance[7]):
            with m.If(saturated | (rounded[15] & ~negative[6])):
                m.d.sync += self.r.eq(Cat((~negative[6]).replicate(15), negative[6]))
            with m.Else():
                m.d.sync += self.r.eq(rounded)
        return m


def _exponent(high: Value) -> Value:
    """Bits of a magnitude from bit 24 up to its leading one, as a number from 0 to 7."""
    four = high[3:].any()
    two = high[5:].any() | (~(high[3] | high[4]) & (high[1] | high[2]))
    one = high[6] | high[7] | (~high[5] & (high[4] | (~high[3] & (high[2] | (~high[1] & high[0])))))
    return Cat(one, two, four)


def _beside_tie(m: Module, fixed: Signal) -> Signal:
    """Rounding ``fixed`` to 24 significant bits gives a half-integer; for the proof see the head of this file."""
    whole = fixed[FRACTION:]
    above = fixed[FRACTION - 1]
    rest = fixed[:24]
    # ceil(d / 2^24) - 1 above, with a borrow if d = 0; floor(x / 2^24) below.
    distance = Signal(25)
    borrow = distance[24]
    no_longer = Signal()
    beside = Signal()
    m.d.comb += [
        distance.eq((fixed[24 : FRACTION - 1] ^ (~above).replicate(24)) - (above & (rest == 0))),
        no_longer.eq((distance & ~Cat(whole, Const(0, 25 - INTEGER))) <= whole),
        beside.eq(Mux(above, borrow | no_longer, no_longer & (rest[23] | (whole != 0)))),
    ]
    return beside
