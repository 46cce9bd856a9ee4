"""Normalised values: each element less the row's offset, times the channel's factor, plus its own offset."""

from __future__ import annotations

from typing import Any

from amaranth import Cat, Module, Mux, Signal, Value, signed
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from hw.arithmetic.choice import pick
from hw.misc.delay import Delay
from hw.rows.layouts import TOTAL_BITS
from isa.rows import B_BITS, B_SHIFT, F_STEP, G_BITS, MOST_F, SHIFTS, U_SHIFT

RECORD = data.StructLayout({"g": signed(G_BITS), "b": signed(B_BITS)})
U_BITS = TOTAL_BITS - U_SHIFT
EXACT_BITS = U_BITS + G_BITS + 1
WHOLE_BITS = 10
"""What is more is clamped, whatever the zero-point."""
PRODUCT = 2
"""Registers of a product, which a DSP has."""
FACTORS = 1 + PRODUCT + 1
"""Cycles from an element to its factor."""
LATENCY = FACTORS + PRODUCT + 3


class Scale(wiring.Component):
    """``u G + 2^18 B`` over ``2^F`` of ``isa/rows.py``: ``whole``, within ten bits, and whether to add one (``up``). They come
    ``LATENCY`` cycles after the element; ``slope`` and ``offset`` come with it, its ``record`` ``FACTORS`` cycles later. No
    stalls.

    Two products a lane, 9 x 43 bits and 35 x 27 bits: four DSPs.
    """

    def __init__(self, lanes: int) -> None:
        self.lanes = lanes
        super().__init__({
            "x": In(data.ArrayLayout(signed(8), lanes)),
            "slope": In(TOTAL_BITS),
            "offset": In(TOTAL_BITS),
            "record": In(data.ArrayLayout(RECORD, lanes)),
            "zp": In(signed(8)),
            "shift": In(range(SHIFTS)),
            "whole": Out(data.ArrayLayout(signed(WHOLE_BITS), lanes)),
            "up": Out(lanes),
        })

    def elaborate(self, platform: Any) -> Module:
        m = Module()
        slope = Delay(m, self.slope, "slope")(1)
        offset = Delay(m, self.offset, "offset")(1 + PRODUCT)
        for lane in range(self.lanes):
            x = _register(m, self.x[lane] - self.zp, f"x{lane}")
            moved = _product(m, x, slope.as_signed(), TOTAL_BITS, f"moved{lane}")
            u = _register(m, (moved - offset)[U_SHIFT:TOTAL_BITS].as_signed(), f"u{lane}")
            record = self.record[lane]
            scaled = _product(m, u, record.g, U_BITS + G_BITS, f"scaled{lane}")
            own = Delay(m, record.b, f"own{lane}")(PRODUCT)
            exact = _register(m, (scaled.as_signed() + (own.as_signed() << B_SHIFT))[:EXACT_BITS].as_signed(), f"exact{lane}")
            self._round(m, lane, exact)
        return m

    def _round(self, m: Module, lane: int, exact: Value) -> None:
        """Whole number, half and all below it, at the point that the instruction says."""
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
        m.d.sync += [
            self.whole[lane].eq(Mux(beyond, edge, whole)),
            self.up[lane].eq(half & (below | whole[0]) & ~beyond),
        ]


def _register(m: Module, value: Value, name: str) -> Signal:
    register = Signal(value.shape(), name=name, reset_less=True)
    m.d.sync += register.eq(value)
    return register


def _product(m: Module, a: Value, b: Value, bits: int, name: str) -> Value:
    """The lowest bits of a product of signed numbers, ``PRODUCT`` cycles later."""
    product: Value = (a * b)[:bits]
    for stage in range(PRODUCT):
        product = _register(m, product, f"{name}_{stage}")
    return product
