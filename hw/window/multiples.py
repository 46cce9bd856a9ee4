"""The multiples of the steps of a raster, of which each lane takes its own."""

from __future__ import annotations

from typing import Any

from amaranth import Cat, Const, Module, Mux, Signal, Value
from amaranth.lib import data
from amaranth.utils import bits_for

from hw.copies import Spread
from hw.window.fields import greatest
from hw.window.pixels import Widths
from isa.latency import raster_rounds


def multiples_layout(widths: Widths, lanes: int) -> data.StructLayout:
    """The multiples 1 to ``lanes`` of the steps. Entry 0 is zero and never driven."""
    return data.StructLayout({
        "row": data.ArrayLayout(widths.row, lanes + 1),
        "y": data.ArrayLayout(bits_for(lanes * greatest("s_y")) if widths.numbered else 1, lanes + 1),
        "column": data.ArrayLayout(bits_for(lanes * ((1 << widths.column_step) - 1)), lanes + 1),
    })


def held_walk(
    m: Module, given: Any, widths: Widths, lanes: int, release: Signal, gone: Value
) -> tuple[data.View, data.View, Signal]:
    """Holds the walk of the stream ``given``, with the multiples of its steps, while the previous walk still runs.

    Each cycle doubles the number of multiples. When all are there the walk is ``armed``, until ``release`` says that its first
    group is counted. The walk stays until that group is ``gone``, because later stages read it. Two bits say where it is:

    =========  =========  ===========================================================
    ``empty``  ``begun``  the walk
    =========  =========  ===========================================================
    1          0          none is held; the next one is taken
    0          0          its multiples are made; then it is ``armed``
    0          1          its first group is on its way
    =========  =========  ===========================================================

    Registers hold ``empty`` and not its opposite, because it enables those that take a walk.

    The bits are no FSM, because ``release`` and ``gone`` come late, and decoding a state would take another level of logic. For
    the same reason this is no module of its own. Returns the walk, the multiples, and ``armed``.
    """
    armed = Signal()
    empty = Signal(init=1)
    begun = Signal()
    walk = Signal(given.p.shape())
    steps = Signal(multiples_layout(widths, lanes))
    rounds = raster_rounds(lanes)
    count = Signal(range(rounds + 1))
    m.d.comb += [given.ready.eq(empty), armed.eq(~empty & ~begun & (count == rounds))]
    empties = Spread(m, empty, Mux(empty, ~given.valid, gone), "sync", elsewhere=steps.shape().size)
    m.d.sync += begun.eq(~empty & (begun | release))

    def sums(known: int, row: Any, y: Any, column: Any, ring: Value) -> None:
        """Makes from the multiples up to ``known`` those up to twice as much."""
        for k in range(1, min(known, lanes - known) + 1):
            m.d.sync += [
                steps.row[known + k].eq(widths.ring_sum(_sum(row, known, k), ring)),
                steps.y[known + k].eq(_sum(y, known, k) if widths.numbered else 0),
                steps.column[known + k].eq(_sum(column, known, k)),
            ]

    with m.If(empty):
        first = given.p.row_step, given.p.y_step, given.p.column_step
        m.d.sync += count.eq(0)
        m.d.sync += [steps[part][1].eq(step) for part, step in zip(("row", "y", "column"), first, strict=True)]
        row, y, column = ((step, step) for step in first)
        sums(1, row, y, column, given.p.ring)
    with m.Else(), m.Switch(count):
        for k in range(rounds):
            with m.Case(k):
                m.d.sync += count.eq(k + 1)
                sums(2 << k, steps.row, steps.y, steps.column, walk.ring)
    empties.enable(walk, given.p)
    return walk, steps, armed


def _sum(multiples: Any, a: int, b: int) -> Value:
    """The sum of two multiples. Twice the same one needs no adder."""
    return Cat(Const(0, 1), multiples[a]) if a == b else multiples[a] + multiples[b]
