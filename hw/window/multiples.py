"""Multiples of the steps of a raster, from which each lane takes its own."""

from __future__ import annotations

from typing import Any

from amaranth import Cat, Const, Module, Signal, Value
from amaranth.hdl import ShapeLike
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out
from amaranth.utils import bits_for

from hw.window.fields import greatest
from hw.window.pixels import Widths, raster_layout
from isa.latency import raster_rounds

_PARTS = ("row", "y", "column")


def multiples_layout(widths: Widths, lanes: int) -> data.StructLayout:
    """Multiples 1 to ``lanes`` of the steps; entry 0 is zero and never driven."""
    return data.StructLayout({
        "row": data.ArrayLayout(widths.row, lanes + 1),
        "y": data.ArrayLayout(bits_for(lanes * greatest("s_y")) if widths.numbered else 1, lanes + 1),
        "column": data.ArrayLayout(bits_for(lanes * ((1 << widths.column_step) - 1)), lanes + 1),
    })


class Multiples(wiring.Component):
    """Holds one walk, and works out the multiples of its three steps, while the previous walk still runs.

    ======  ==============================================================================
    IDLE    takes a walk, with its steps and twice the steps
    DOUBLE  twice as many multiples in each cycle, in ``raster_rounds`` cycles (none of few lanes)
    ARMED   all multiples are there; the walk waits until it is ``released`` to the counters
    HELD    ``walk`` stays until its first group is ``gone``, because later stages read it
    ======  ==============================================================================
    """

    def __init__(self, widths: Widths, lanes: int, carried: ShapeLike) -> None:
        self.widths = widths
        self.lanes = lanes
        super().__init__({
            "i": In(stream.Signature(raster_layout(widths, carried))),
            "walk": Out(raster_layout(widths, carried)),
            "steps": Out(multiples_layout(widths, lanes)),
            "armed": Out(1),
            "released": In(1),
            "gone": In(1),
        })

    def elaborate(self, platform: object) -> Module:
        m = Module()
        rounds = raster_rounds(self.lanes)
        number = Signal(range(max(2, rounds)))
        given = self.i.p
        with m.FSM() as state:
            with m.State("IDLE"):
                first = {"row": given.row_step, "y": given.y_step, "column": given.column_step}
                m.d.sync += [self.walk.eq(given), *(self.steps[part][1].eq(step) for part, step in first.items())]
                self._double(m, 1, {part: (step, step) for part, step in first.items()}, given.ring)
                with m.If(self.i.valid):
                    m.next = "DOUBLE" if rounds else "ARMED"
            if rounds:
                with m.State("DOUBLE"):
                    m.d.sync += number.eq(number + 1)
                    with m.Switch(number):
                        for k in range(rounds):
                            with m.Case(k):
                                self._double(m, 2 << k, {part: self.steps[part] for part in _PARTS}, self.walk.ring)
                    with m.If(number == rounds - 1):
                        m.next = "ARMED"
            with m.State("ARMED"):
                m.d.sync += number.eq(0)
                with m.If(self.released):
                    m.next = "HELD"
            with m.State("HELD"), m.If(self.gone):
                m.next = "IDLE"
        m.d.comb += [self.i.ready.eq(state.ongoing("IDLE")), self.armed.eq(state.ongoing("ARMED"))]
        return m

    def _double(self, m: Module, known: int, steps: Any, ring: Value) -> None:
        """From the multiples up to ``known`` those up to twice as much."""
        for k in range(1, min(known, self.lanes - known) + 1):
            m.d.sync += [
                self.steps.row[known + k].eq(self.widths.ring_sum(_sum(steps["row"], known, k), ring)),
                self.steps.y[known + k].eq(_sum(steps["y"], known, k) if self.widths.numbered else 0),
                self.steps.column[known + k].eq(_sum(steps["column"], known, k)),
            ]


def _sum(multiples: Any, a: int, b: int) -> Value:
    """Of two multiples; twice the same needs no adder."""
    return Cat(Const(0, 1), multiples[a]) if a == b else multiples[a] + multiples[b]
