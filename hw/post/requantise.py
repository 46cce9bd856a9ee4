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

In the fraction bits ``b1 b2 ..`` of ``v`` this reads: below the tie (``b1 = 0``) ``b2 .. bc`` are all one;
above it ``b2 .. b(c-1)`` are all zero, and ``bc`` too unless everything after it is zero.

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
        total = Signal(signed(32))
        m.d.comb += total.eq(self.acc + Mux(used, self.param.bias, 0))
        negative = Signal(LATENCY - 1)
        magnitude = Signal(32)
        mantissa_0 = Signal(24)
        shift_0 = Signal(6)
        with m.If(self.advance[0]):
            m.d.sync += [
                negative[0].eq(total[31]),
                magnitude.eq(Mux(total[31], -total, total)),
                mantissa_0.eq(Mux(used, self.param.mantissa, 1)),
                shift_0.eq(Mux(used, self.param.shift, 0)),
            ]

        exponent = Signal(4)
        kept_next, guard, sticky = Signal(24), Signal(), Signal()
        m.d.comb += kept_next.eq(magnitude)
        for e in range(1, 9):
            with m.If(magnitude[23 + e]):
                m.d.comb += [
                    exponent.eq(e),
                    kept_next.eq(magnitude[e:]),
                    guard.eq(magnitude[e - 1]),
                    sticky.eq(magnitude[: e - 1].any() if e > 1 else 0),
                ]
        left_next = Signal(signed(8))
        m.d.comb += left_next.eq(FRACTION + exponent - shift_0)
        kept = Signal(24)
        increment = Signal()
        mantissa_1 = Signal(24)
        left_1 = Signal(6)
        with m.If(self.advance[1]):
            m.d.sync += [
                negative[1].eq(negative[0]),
                kept.eq(kept_next),
                increment.eq(guard & (sticky | kept_next[0])),
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
                factor.eq(_left(m, mantissa_1, left_1[:3], 1, 31)),
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

        fixed = Signal(FRACTION + INTEGER)
        overflow = Signal()
        beyond = [product[8 * b : 8 * b + 8].any() & (coarse[2] >= 8 - b) for b in range(1, 7)]
        with m.If(self.advance[5]):
            m.d.sync += [
                negative[5].eq(negative[4]),
                fixed.eq(_left(m, product, coarse[2], 8, len(fixed))),
                overflow.eq(Cat(beyond).any()),
            ]

        whole = fixed[FRACTION:]
        above = fixed[FRACTION - 1]
        round_up = Signal()
        saturated = Signal()
        whole_6 = Signal(INTEGER)
        with m.If(self.advance[6]):
            m.d.sync += [
                negative[6].eq(negative[5]),
                whole_6.eq(whole),
                round_up.eq(Mux(_beside_tie(m, fixed), whole[0], above)),
                saturated.eq(overflow),
            ]

        # -(h + up) = ~h + 1 - up: one adder rounds and negates.
        signed_sum = Signal(signed(17))
        minus = negative[6]
        m.d.comb += signed_sum.eq(Cat(whole_6 ^ minus.replicate(INTEGER), minus).as_signed() + (round_up ^ minus))
        with m.If(self.advance[7]):
            with m.If(minus):
                m.d.sync += self.r.eq(Mux(saturated, -(1 << 15), signed_sum))
            with m.Else():
                m.d.sync += self.r.eq(Mux(saturated | signed_sum[15], (1 << 15) - 1, signed_sum))
        return m


def _left(m: Module, value: Value, amount: Value, unit: int, width: int) -> Value:
    """``value << (amount * unit)`` in ``width`` bits; by halves, so that no intermediate is wider."""
    shifted = Cat(value, Const(0, width - len(value)))
    for n in range(len(amount)):
        step = Signal(width, name=f"left_{unit << n}")
        m.d.comb += step.eq(Mux(amount[n], Cat(Const(0, unit << n), shifted)[:width], shifted))
        shifted = step
    return shifted


def _beside_tie(m: Module, fixed: Signal) -> Signal:
    """Rounding ``fixed`` to 24 significant bits gives a half-integer; for the proof see the head of this file."""
    whole = fixed[FRACTION:]
    above = fixed[FRACTION - 1]
    # Distance from the tie, weight 2^-49 at bit 0, 2^-2 at the top; below the tie it is 2^-49 less.
    distance = Signal(FRACTION - 1)
    m.d.comb += distance.eq(fixed[: FRACTION - 1] ^ (~above).replicate(FRACTION - 1))
    # Bit n: position 25 - n lies at or behind c = 25 - I, that is n <= I: h >= 2^(n - 1).
    behind = Signal(INTEGER + 1)
    m.d.comb += behind.eq(Cat(1, *(whole[n:].any() for n in range(INTEGER))))
    edge = Signal(INTEGER + 1)
    m.d.comb += edge.eq(behind & ~Cat(behind[1:], Const(0, 1)))
    window = Signal(INTEGER + 1)
    tail = distance[: FRACTION - 25]
    m.d.comb += window.eq(distance[FRACTION - 25 :])
    before, at, after = Signal(), Signal(), Signal()
    m.d.comb += [
        before.eq(distance[FRACTION - 25 + len(window) :].any() | (window & ~behind).any()),
        at.eq((window & edge).any()),
        after.eq((window & behind & ~edge).any() | tail.any()),
    ]
    near = Signal()
    at_below = Signal()
    m.d.comb += [
        at_below.eq(at | (~behind[1] & tail[-1])),
        near.eq(~before & Mux(above, ~(at & after), ~at_below)),
    ]
    return near
