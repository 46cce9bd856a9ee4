"""The counters of a raster, which tell in which rows and columns its next pixels lie."""

from __future__ import annotations

from collections.abc import Sequence

from amaranth import Module, Mux, Signal
from amaranth.lib import data

from hw.arithmetic.choice import pick
from hw.window.near import Near


def place_layout(lanes: int, advances: int) -> data.StructLayout:
    """The places of the lanes and of the pixel behind the last: the row ends that lie before each (``wraps``), and the column
    ``after`` the last of these row ends. ``phase`` is the number of this step among the ``advances``."""
    return data.StructLayout({
        "wraps": data.ArrayLayout(range(lanes + 1), lanes + 1),
        "after": data.ArrayLayout(range(lanes + 1), lanes + 1),
        "valid": data.ArrayLayout(1, lanes),
        "phase": range(max(2, advances)),
        "first": 1,
        "last_of_repeat": 1,
        "last": 1,
    })


def counted(
    m: Module, walk: data.View, lanes: int, advances: Sequence[int], armed: Signal, release: Signal, accept: Signal
) -> tuple[data.View, Signal]:
    """Goes through the rows of a walk. The next place is put out in each cycle in which ``accept`` is high.

    Returns that place, and whether there is one.

    Decisions depend on a few bits (``Near``), whatever the number of lanes. Two bits say which group is next:

    ===========  =========  ==========================================================
    ``running``  ``fresh``  the next group
    ===========  =========  ==========================================================
    0                       there is none; the next walk begins when it is ``armed``
    1            1          the first of a walk; ``release`` is high with it
    1            0          another one of the walk
    ===========  =========  ==========================================================

    The bits are no FSM, and this is no module of its own, because ``accept`` comes late and either would take another level of
    logic.
    """
    n = lanes
    running = Signal()
    fresh = Signal()
    left = Signal(12)
    rows = Signal(12)
    width = Signal(12)
    height = Signal(12)
    repeats = Signal(12)
    final = Signal()
    """This is the last of the repeats."""
    phase = Signal(range(max(2, len(advances))))
    place = Signal(place_layout(lanes, len(advances)))
    placed = Signal()
    near = Near(m, left, rows, n, advances, phase)
    amount = pick(advances, phase)
    final_phase = phase == len(advances) - 1
    repeat_over = Signal()
    walk_over = Signal()
    starts = Signal()
    """The first group of a walk is next."""
    m.d.comb += [
        repeat_over.eq(final_phase & near.rows_over),
        walk_over.eq(repeat_over & final),
        starts.eq(running & fresh),
        release.eq(starts & accept),
    ]
    with m.If(accept):
        m.d.sync += [
            placed.eq(running),
            place.phase.eq(phase),
            place.first.eq(fresh),
            place.last_of_repeat.eq(repeat_over),
            place.last.eq(walk_over),
        ]
        m.d.sync += [place.wraps[p].eq(near.wraps[p]) for p in range(n + 1)]
        m.d.sync += [place.after[p].eq(near.after[p]) for p in range(n + 1)]
        m.d.sync += [place.valid[p].eq((near.wraps[p] < near.rows) & (p < amount)) for p in range(n)]
    # The walk alone chooses what is next; ``accept`` is late, and only an enable. Where no other walk is ready,
    # the loaded walk is loaded again. While the walk at hand is ``fresh``, it is still the one that is held.
    with m.If(accept | ~running):
        with m.If(walk_over | ~running):
            m.d.sync += [
                running.eq(armed & ~starts),
                fresh.eq(1),
                phase.eq(0),
                left.eq(walk.width),
                width.eq(walk.width),
                rows.eq(walk.height),
                height.eq(walk.height),
                repeats.eq(walk.repeats),
                final.eq(walk.repeats == 1),
            ]
            near.begin(walk.width, walk.height)
        with m.Elif(repeat_over):
            m.d.sync += [
                fresh.eq(0),
                phase.eq(0),
                left.eq(width),
                rows.eq(height),
                repeats.eq(repeats - 1),
                final.eq(repeats == 2),
            ]
            near.first_row(height)
        with m.Else():
            m.d.sync += [
                fresh.eq(0),
                phase.eq(Mux(final_phase, 0, phase + 1)),
                left.eq(Mux(near.wrapped, width, left) - Mux(near.wrapped, near.column, amount)),
                rows.eq(Mux(near.rows_over, 0, rows - near.ends)),
            ]
            near.step()
    return place, placed
