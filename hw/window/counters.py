"""The counters of a raster: which rows and columns its next pixels lie in."""

from __future__ import annotations

from collections.abc import Sequence

from amaranth import Module, Mux, Signal
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from hw.arithmetic.choice import pick
from hw.window.near import Near


def place_layout(lanes: int, advances: int) -> data.StructLayout:
    """Of each lane, and of the pixel behind the last: the row ends that lie before it (``wraps``), and the column ``after`` the
    last of them. ``phase``: which of the ``advances`` this is."""
    return data.StructLayout({
        "wraps": data.ArrayLayout(range(lanes + 1), lanes + 1),
        "after": data.ArrayLayout(range(lanes + 1), lanes + 1),
        "valid": data.ArrayLayout(1, lanes),
        "phase": range(max(2, advances)),
        "first": 1,
        "last_of_repeat": 1,
        "last": 1,
    })


class RasterCounters(wiring.Component):
    """Goes through the rows of a walk; the next place is put out in each cycle in which ``accept`` is high.

    ======  =================================================================
    IDLE    no walk runs; the next one begins when it is ``armed``
    FIRST   the first group of a walk is next; ``release`` is high with it
    WITHIN  another group of the walk is next
    ======  =================================================================

    Decisions are a look at a few bits (``Near``), whatever the number of lanes. Latency 1.
    """

    def __init__(self, lanes: int, advances: Sequence[int]) -> None:
        self.lanes = lanes
        self.advances = tuple(advances)
        super().__init__({
            **dict.fromkeys(("width", "height", "repeats"), In(12)),
            "armed": In(1),
            "release": Out(1),
            "accept": In(1),
            "placed": Out(1),
            "place": Out(place_layout(lanes, len(advances))),
        })

    def elaborate(self, platform: object) -> Module:
        m = Module()
        n, place = self.lanes, self.place
        left, rows, width, height, repeats = (Signal(12, name=name) for name in ("left", "rows", "width", "height", "repeats"))
        final = Signal()
        """Of the repeats, that this is the last."""
        phase = Signal(range(max(2, len(self.advances))))
        near = Near(m, left, rows, n, self.advances, phase)
        amount = pick(self.advances, phase)
        final_phase = phase == len(self.advances) - 1
        repeat_over = Signal()
        walk_over = Signal()
        m.d.comb += [repeat_over.eq(final_phase & near.rows_over), walk_over.eq(repeat_over & final)]
        with m.FSM() as state:
            with m.State("IDLE"), m.If(self.armed):
                m.next = "FIRST"
            with m.State("FIRST"), m.If(self.accept):
                # The walk at hand is still the one that is set up.
                m.next = "WITHIN"
                with m.If(walk_over):
                    m.next = "IDLE"
            with m.State("WITHIN"), m.If(self.accept & walk_over):
                m.next = "IDLE"
                with m.If(self.armed):
                    m.next = "FIRST"
        idle, first = state.ongoing("IDLE"), state.ongoing("FIRST")
        m.d.comb += self.release.eq(first & self.accept)
        with m.If(self.accept):
            m.d.sync += [
                self.placed.eq(~idle),
                place.phase.eq(phase),
                place.first.eq(first),
                place.last_of_repeat.eq(repeat_over),
                place.last.eq(walk_over),
                *(place.wraps[p].eq(near.wraps[p]) for p in range(n + 1)),
                *(place.after[p].eq(near.after[p]) for p in range(n + 1)),
                *(place.valid[p].eq((near.wraps[p] < near.rows) & (p < amount)) for p in range(n)),
            ]
        # What is next is chosen by the walk alone; ``accept`` is late, and only an enable. Where no other walk is ready,
        # what is loaded is loaded again.
        with m.If(self.accept | idle):
            with m.If(walk_over | idle):
                m.d.sync += [
                    phase.eq(0),
                    left.eq(self.width),
                    width.eq(self.width),
                    rows.eq(self.height),
                    height.eq(self.height),
                    repeats.eq(self.repeats),
                    final.eq(self.repeats == 1),
                ]
                near.begin(self.width, self.height)
            with m.Elif(repeat_over):
                m.d.sync += [phase.eq(0), left.eq(width), rows.eq(height), repeats.eq(repeats - 1), final.eq(repeats == 2)]
                near.first_row(height)
            with m.Else():
                m.d.sync += [
                    phase.eq(Mux(final_phase, 0, phase + 1)),
                    left.eq(Mux(near.wrapped, width, left) - Mux(near.wrapped, near.column, amount)),
                    rows.eq(Mux(near.rows_over, 0, rows - near.ends)),
                ]
                near.step()
        return m
