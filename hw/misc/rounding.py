"""Makes whole numbers of exact sums: shift, rounding to 24 significant bits, rounding to an integer."""

from __future__ import annotations

from typing import Any

from amaranth import Cat, Const, Module, Mux, Signal, Value, signed
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from hw.arithmetic.thermometer import thermometer
from isa.latency import MISC_ROUNDING

SUM_BITS = 49
WHOLE = 10
"""The bits of a result with its sign. A greater one is clamped with any zero-point."""
FRACTION = 25
"""The bits behind the point that decide whether rounding to 24 significant bits makes a half. One bit collects all below
them."""

_FINE = 16
_WINDOW = FRACTION + WHOLE
_ROUGH = data.StructLayout({"window": _WINDOW + _FINE - 1, "sign": 1, "beyond": 1, "below": 1})
_SHIFTED = data.StructLayout({"fraction": FRACTION, "whole": signed(WHOLE), "beyond": 1, "below": 1})


class Round(wiring.Component):
    """``r`` = ``total / 2^shift`` rounded to 24 significant bits, then to an integer, both to even; within ``WHOLE`` bits.

    Rounding to 24 bits matters only where it makes a half. That is within ``2^(e - 24)`` of ``k + 1/2``, where ``e`` is the
    exponent. So the fraction is compared with one half, leaving out as many of its bits as ``k`` has. It takes one sum per
    cycle, with a latency of ``MISC_ROUNDING``, and never stalls. Sums go from stage to stage as ``goes`` says, and ``shift``
    must not change while any are on their way:

    ======  =====================================================================
    1       shift by multiples of 16: what lies above and below the window is noted
    2       shift by the rest
    3       is it a half? up or down
    4       sum, saturation
    ======  =====================================================================
    """

    def __init__(self) -> None:
        super().__init__({"total": In(signed(SUM_BITS)), "shift": In(6), "goes": In(MISC_ROUNDING), "r": Out(signed(WHOLE))})

    def elaborate(self, platform: Any) -> Module:
        m = Module()
        rough = Signal(_ROUGH, reset_less=True)
        with m.If(self.goes[0]):
            m.d.sync += rough.eq(self._rough(m))
        shifted = Signal(_SHIFTED, reset_less=True)
        with m.If(self.goes[1]):
            m.d.sync += shifted.eq(self._fine(m, rough))

        whole = shifted.whole
        up, beyond = (Signal(name=name, reset_less=True) for name in ("up", "beyond"))
        floor, r = (Signal(signed(WHOLE), name=name, reset_less=True) for name in ("floor", "result"))
        m.d.comb += self.r.eq(r)
        with m.If(self.goes[2]):
            m.d.sync += [up.eq(_rounds_up(shifted)), floor.eq(whole), beyond.eq(shifted.beyond)]
        most = (1 << WHOLE - 1) - 1
        at_top = floor == most
        with m.If(self.goes[3]):
            m.d.sync += r.eq(Mux(beyond | at_top, Mux(floor[-1], -most - 1, most), floor + up))
        return m

    def _rough(self, m: Module) -> Value:
        """The window of each multiple of 16, wide enough for the rest of the shift."""
        whole = Cat(Const(0, FRACTION), self.total).as_signed()
        found = Signal(_ROUGH, name="rough_now")
        sign = self.total[-1]
        with m.Switch(self.shift[4:]):
            for step in range(4):
                with m.Case(step):
                    moved = whole >> step * _FINE
                    above = moved[len(found.window) :]
                    under = self.total[: max(0, step * _FINE - FRACTION)]
                    m.d.comb += [
                        found.window.eq(moved),
                        found.beyond.eq(Mux(sign, ~above.all(), above.any()) if len(above) else 0),
                        found.below.eq(under.any() if len(under) else 0),
                    ]
        m.d.comb += found.sign.eq(sign)
        return found.as_value()

    def _fine(self, m: Module, rough: Any) -> Value:
        """The window itself, shifted by a multiple of 4 and by the rest: two rows of 4:1 multiplexers. All bits above it, and
        its own highest bit, must equal the sign."""
        found = Signal(_SHIFTED, name="shifted_now")
        by_4, rest = self.shift[2:4], self.shift[:2]
        wide = _WINDOW + 3
        whole = Cat(rough.window, rough.sign.replicate(_FINE))
        coarse = Signal(wide)
        moved = Signal(_WINDOW)
        top = coarse[_WINDOW - 1 :] ^ rough.sign.replicate(4)
        lost = [rough.window[4 * n : 4 * n + 4].any() & (by_4 > n) for n in range(3)]
        lost += [Cat(coarse[n] & (rest > n) for n in range(3)).any()]
        above = [(rough.window[wide + 4 * n :][:4] ^ rough.sign.replicate(4)).any() & (by_4 <= n) for n in range(3)]
        above += [Cat(top[n] & (rest <= n) for n in range(3)).any() | top[3]]
        m.d.comb += [
            coarse.eq(whole.bit_select(by_4 << 2, wide)),
            moved.eq(coarse.bit_select(rest, _WINDOW)),
            found.fraction.eq(moved[:FRACTION]),
            found.whole.eq(Cat(moved[FRACTION:-1], rough.sign)),
            found.beyond.eq(rough.beyond | Cat(above).any()),
            found.below.eq(rough.below | Cat(lost).any()),
        ]
        return found.as_value()


def _rounds_up(shifted: Any) -> Value:
    """High if the number is nearer to the next integer than to the one below, or half-way while the one below is odd.

    ``counts[j]`` says that bit ``j`` of the fraction is worth more than ``2^(e - 24)``. A number above one half makes a half if
    none of these bits is set and the next bit is not set together with one below it. A number below one half does if these bits
    and the next one are all set.
    """
    k = (shifted.whole ^ shifted.whole[-1].replicate(WHOLE))[: WHOLE - 1]
    half, rest = shifted.fraction[-1], shifted.fraction[:-1]
    counts = Cat(Const(0, FRACTION - 24), ~thermometer(k), Const(1, 1).replicate(len(rest) - len(k) - (FRACTION - 24)))
    reach = Cat(counts[1:], Const(1, 1))
    """The bits that count, and the next bit."""
    next_bit = (reach & ~counts & rest).any()
    lower = (~reach & rest).any() | shifted.below
    above = half & ~(counts & rest).any() & ~(next_bit & lower)
    below = ~half & ~(reach & ~rest).any()
    return Mux(above | below, shifted.whole[0], half)
