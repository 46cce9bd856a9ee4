"""The results of a row before their zero-point: quotients of softmax, normalised values."""

from __future__ import annotations

from typing import Any

from amaranth import Cat, Const, Module, Mux, Signal, Value, signed, unsigned
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from hw.arithmetic.choice import pick
from hw.arithmetic.sums import chosen_sum
from hw.misc.delay import Delay
from hw.rows.layouts import OFFSET_BITS, PREPARED, SOFTMAX, TOTAL_BITS
from hw.rows.quotient import T_DROPPED, T_HELD, WINDOW_STEP, WINDOWS
from isa.rows import B_BITS, B_SHIFT, F_STEP, G_BITS, MOST_F, SHIFTS, T_BITS, T_SHIFT, U_SHIFT

RECORD = data.StructLayout({"g": signed(G_BITS), "b": signed(B_BITS)})
LOW = 17
"""Bits of a wide operand that the first DSP of a product takes; the second one has up to 27."""
U_BITS = TOTAL_BITS - U_SHIFT
DIFFERENCE_BITS = TOTAL_BITS + 2
"""Of twice a quotient's rest, signed; the lowest 43 of them are those of a normalised value."""
X_BITS = 10
"""Of twice a quotient and a half, or an element less the zero-point."""
EXACT_BITS = U_BITS + G_BITS + 1
WHOLE_BITS = 10
"""What is more is clamped, whatever the zero-point."""
PRODUCT = 2
"""Registers of a product: its parts, their sum."""

T_AT = 3
"""Cycles from an element to its numerator."""
ESTIMATED = T_AT + 2 + PRODUCT
"""To the estimate of its quotient, and to the element itself on its way to the same product."""
DIFFERENT = ESTIMATED + 1 + PRODUCT + 1
"""To what is less than a row's offset, or a quotient's rest."""
LATENCY = DIFFERENT + 1 + PRODUCT + 3


class Results(wiring.Component):
    """``whole``, within ten bits, and whether to add one (``up``), ``LATENCY`` cycles after the element and its ``row``. The
    numerator ``t`` comes ``T_AT`` cycles after the element, its ``record`` ``DIFFERENT`` cycles. No stalls.

    Both modes have two products a lane, of four DSPs, and meet them the other way round::

        NORMALISE  x - zp -> * slope -> - offset -> u -> * G -> + B -> rounded
        SOFTMAX    t -> * reciprocal of the total -> n -> (2n + 1) * total -> - 32 t -> its sign rounds n

    ``n`` is the quotient, or one less than it rounds to (``quotient.py``). From 255 on a quotient is any such.
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
        softmax = self.softmax
        slope = Delay(m, self.row.slope, "slope")(ESTIMATED + 1)
        offset = Delay(m, self.row.offset, "offset")(ESTIMATED + 1 + PRODUCT)
        divides = Delay(m, self.row.offset[: SOFTMAX.size], "divides")
        reciprocal = data.View(SOFTMAX, divides(T_AT + 1)).reciprocal
        for lane in range(self.lanes):
            t = Delay(m, self.t[lane], f"t{lane}")
            held, great = self._window(m, lane, t(0), data.View(SOFTMAX, divides(T_AT)))
            u = Signal(signed(U_BITS), name=f"u{lane}", reset_less=True)
            g = Signal(signed(G_BITS), name=f"g{lane}", reset_less=True)
            scaled = _product(m, g, u, U_BITS + G_BITS, f"scaled{lane}")
            estimate = scaled[ESTIMATE_POINT:]
            n = Signal(8, name=f"n{lane}", reset_less=True)
            much = Signal(name=f"much{lane}", reset_less=True)
            less = self.x_less(m, lane)
            x = Signal(signed(X_BITS), name=f"less{lane}", reset_less=True)
        return m
