"""The results of a row before the zero-point is added: quotients of softmax, or normalised values."""

from __future__ import annotations

from typing import Any

from amaranth import Cat, Const, Module, Mux, Signal, Value, signed, unsigned
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from hw.arithmetic.cascade import cascades_of
from hw.arithmetic.choice import pick
from hw.arithmetic.sums import chosen_sum
from hw.copies import PINS, Spread
from hw.misc.delay import Delay
from hw.rows.layouts import PREPARED, TOTAL_BITS
from hw.rows.quotient import DIVIDES, POINT, held_of
from isa.rows import B_BITS, B_SHIFT, F_STEP, G_BITS, MOST_F, SHIFTS, T_BITS, T_SHIFT, U_SHIFT

RECORD = data.StructLayout({"g": signed(G_BITS), "b": signed(B_BITS)})
U_BITS = TOTAL_BITS - U_SHIFT
DIFFERENCE_BITS = TOTAL_BITS + 2
"""The bits of twice a quotient's rest, signed. The lowest 43 of them are those of a normalised value."""
EXACT_BITS = U_BITS + G_BITS + 1
WHOLE_BITS = 10
"""The bits of a result's whole part. A greater one is clamped, whatever the zero-point."""
PRODUCT = 3
"""The registers of a product: factors, parts, their sum."""

T_AT = 3
"""The cycles from an element to its numerator."""
ESTIMATED = T_AT + 1 + PRODUCT
"""The cycles to the estimate of its quotient. The element itself comes to the same product at this time."""
DIFFERENT = ESTIMATED + PRODUCT + 1
"""The cycles to the product less the row's offset, or to a quotient's rest."""
LATENCY = DIFFERENT + PRODUCT + 3


class Results(wiring.Component):
    """``whole`` has ten bits and ``up`` says whether to add one, ``LATENCY`` cycles after the element and its ``row``. The
    numerator ``t`` comes ``T_AT`` cycles after the element, its ``record`` ``DIFFERENT`` cycles after it. Nothing stalls.

    Both modes have two products a lane, of two DSPs each, and use them in opposite orders::

        NORMALISE  x - zp -> * slope -> - offset -> u -> * G -> + B -> rounded
        SOFTMAX    t -> * reciprocal of the total -> n -> (2n + 1) * total -> - 32 t -> its sign rounds n

    ``n`` is the quotient, or one less than it rounds to (``quotient.py``). Where the quotient is 255 or more, any such number
    serves.
    """

    def __init__(self, lanes: int) -> None:
        self.lanes = lanes
        super().__init__({
            "softmax": In(1),
            "row": In(PREPARED),
            "x": In(data.ArrayLayout(signed(8), lanes)),
            "t": In(data.ArrayLayout(unsigned(T_BITS), lanes)),
            "record": In(data.ArrayLayout(RECORD, lanes)),
            "zp": In(signed(8)),
            "shift": In(range(SHIFTS)),
            "whole": Out(data.ArrayLayout(signed(WHOLE_BITS), lanes)),
            "up": Out(lanes),
        })

    def elaborate(self, platform: Any) -> Module:
        m = Module()
        slope = Delay(m, self.row.slope, "slope")(ESTIMATED)
        offset = Delay(m, self.row.offset, "offset")(DIFFERENT - 1)
        divides = Delay(m, self.row.offset[: DIVIDES.size], "divides")
        in_window, in_product = (data.View(DIVIDES, divides(cycles)) for cycles in (T_AT, T_AT + 1))
        cascades = cascades_of(platform)
        mode = Signal(name="mode")
        modes = Spread(m, mode, self.softmax, "sync")
        for lane in range(self.lanes):
            softmax = modes.of(PINS)
            t = Delay(m, self.t[lane], f"t{lane}")
            held, great = held_of(t(0), in_window.window)
            held = _register(m, held, f"held{lane}")
            great = _register(m, great | in_window.empty, f"great{lane}")
            difference = Signal(signed(DIFFERENCE_BITS), name=f"difference{lane}", reset_less=True)
            record = self.record[lane]
            # The product that is softmax's estimate, or that with the channel's factor.
            u = Mux(softmax, held, difference[U_SHIFT:TOTAL_BITS].as_signed())
            g = Mux(softmax, in_product.reciprocal, record.g)
            scaled = cascades.wide_product(m, g, u, f"scaled{lane}")
            much = scaled[POINT + 8 :].any() | Delay(m, great, f"great{lane}")(PRODUCT)
            # The product of the row's slope with an element, or with twice the estimate plus one.
            n = Cat(scaled[POINT:][:8], much)
            element = Delay(m, self.x[lane], f"x{lane}")(ESTIMATED) - self.zp
            factor = Mux(softmax, Cat(Const(1, 1), n[:8]), element)
            n = Delay(m, n, f"n{lane}")
            moved = cascades.wide_product(m, factor, Cat(slope, Const(0, 1)).as_signed(), f"moved{lane}")
            less = Mux(softmax, t(DIFFERENT - 1 - T_AT) << T_SHIFT + 1, offset)
            m.d.sync += difference.eq(chosen_sum(moved[:DIFFERENCE_BITS], ~_wide(less, DIFFERENCE_BITS), 1))
            self._finish(m, lane, softmax, difference, scaled, record.b, n)
        return m

    def _finish(self, m: Module, lane: int, softmax: Signal, difference: Signal, scaled: Value, b: Value, n: Delay) -> None:
        own = Delay(m, b, f"own{lane}")(PRODUCT)
        exact = _register(m, (scaled + (own.as_signed() << B_SHIFT))[:EXACT_BITS].as_signed(), f"exact{lane}")
        whole, up = self._rounded(m, lane, exact)
        found = n(DIFFERENT - ESTIMATED)
        least, much = found[0], found[8]
        raises = _register(m, ~much & (difference[-1] | (least & ~difference.any())), f"raises{lane}")
        last = LATENCY - 1
        quotient = n(last - ESTIMATED)
        quotient_up = Delay(m, raises, f"raises{lane}")(last - DIFFERENT - 1)
        m.d.sync += [
            self.whole[lane].eq(Mux(softmax, quotient[:8] | quotient[8].replicate(8), whole)),
            self.up[lane].eq(Mux(softmax, quotient_up, up)),
        ]

    def _rounded(self, m: Module, lane: int, exact: Value) -> tuple[Value, Value]:
        """Splits a value at the point that the instruction says into whole number, half and the bits below. Returns the whole
        number, clamped, and whether to add one, a cycle later."""
        points = [MOST_F - F_STEP * shift for shift in range(SHIFTS)]
        least = points[-1]
        wide = EXACT_BITS - least
        wholes = [exact[point:].as_signed() for point in points]
        whole = Signal(signed(wide), name=f"wide{lane}", reset_less=True)
        half, below = Signal(name=f"half{lane}", reset_less=True), Signal(name=f"below{lane}", reset_less=True)
        m.d.sync += [
            whole.eq(pick([Cat(value, value[-1].replicate(wide - len(value))) for value in wholes], self.shift)),
            half.eq(pick([exact[point - 1] for point in points], self.shift)),
            below.eq(pick([exact[: point - 1].any() for point in points], self.shift)),
        ]
        beyond = whole[WHOLE_BITS - 1 :].any() & ~whole[WHOLE_BITS - 1 :].all()
        edge = Cat((~whole[-1]).replicate(WHOLE_BITS - 1), whole[-1])
        return Mux(beyond, edge, whole[:WHOLE_BITS]).as_signed(), half & (below | whole[0]) & ~beyond


def _register(m: Module, value: Value, name: str) -> Signal:
    register = Signal(value.shape(), name=name, reset_less=True)
    m.d.sync += register.eq(value)
    return register


def _wide(value: Value, bits: int) -> Value:
    return Cat(value, Const(0, max(0, bits - len(value))))[:bits]

