"""Output pixels in raster order, several at a time, with their parts of addresses."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from amaranth import Module, Mux, Signal, signed, unsigned
from amaranth.hdl import ShapeLike
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from hw.arithmetic.choice import pick
from hw.window.counters import counted
from hw.window.multiples import held_walk, multiples_layout
from hw.window.pixels import Widths, group_layout, raster_layout


class RasterWalk(wiring.Component):
    """Walks a raster, one group of ``lanes`` pixels per cycle, also from walk to walk.

    ``advances`` lists the pixels by which successive steps go on (``(px_p,)`` for whole groups; ``(2, 1)`` takes groups of
    three pixels in two steps). Lanes beyond the advance are invalid, and a walk ends only with the last step of the list.

    The settings of a walk are held until its first group is put out, and the next walk's come after that. Settings that are
    needed longer are copied. There are four stages:

    =============  =====================================================================================
    ``held_walk``  multiples of the three steps, while the previous walk still runs
    ``counted``    for every lane, how many row ends lie before it and which column follows the last one
    choose         for every lane, the multiples that its place asks for
    add            the lanes' address parts: last group's pixel plus these
    =============  =====================================================================================

    So the recurrence from group to group is a choice by a few bits in ``counted`` and one addition in ``add``, whatever the
    number of lanes. The latency is 5 and a cycle for each of the ``raster_rounds``. It stalls while ``o`` is not ready.
    """

    def __init__(self, widths: Widths, lanes: int, advances: Sequence[int], carried: ShapeLike) -> None:
        if not advances or max(advances) > lanes or min(advances) < 1:
            raise ValueError(f"raster advances {tuple(advances)}: expected numbers from 1 to {lanes}, the lanes")
        self.widths = widths
        self.lanes = lanes
        self.advances = tuple(advances)
        self.carried = carried
        super().__init__({
            "i": In(stream.Signature(raster_layout(widths, carried))),
            "o": Out(stream.Signature(group_layout(widths, lanes, carried))),
        })

    def elaborate(self, platform: object) -> Module:
        m = Module()
        release, accept, move, leads = (Signal(name=name) for name in ("release", "accept", "move", "leads"))
        """``release``: the first group of a walk is counted. ``accept``: the next group is counted. ``move``: the counted group
        is chosen from. ``leads``: a first group is chosen."""
        free = Signal()
        walk, steps, armed = held_walk(m, self.i, self.widths, self.lanes, release, leads & free)
        place, placed = counted(m, walk, self.lanes, self.advances, armed, release, accept)
        chosen = self._choose(m, walk, steps, release, place, placed, move)
        self._add(m, walk, place, chosen, move, free)
        # ``o.ready`` comes late, so this has a module of its own. Otherwise synthesis would make a chain of these three.
        m.submodules.late = late = Module()
        late.d.comb += [
            free.eq(~self.o.valid | self.o.ready),
            move.eq(~chosen.valid | ~self.o.valid | self.o.ready),
            accept.eq(~placed | ~chosen.valid | ~self.o.valid | self.o.ready),
        ]
        with m.If(move):
            m.d.sync += leads.eq(placed & place.first)
        return m

    def _choose(
        self, m: Module, walk: data.View, multiples: data.View, release: Signal, place: data.View, placed: Signal,
        move: Signal,
    ) -> _Chosen:  # fmt: skip
        """Takes for each lane the multiples that its place asks for. ``move``: the next stage takes them."""
        n = self.lanes
        steps = Signal(multiples_layout(self.widths, n))
        start = Signal(_start_layout(self.widths))
        ring = Signal.like(walk.ring)
        with m.If(release):
            m.d.sync += [steps.eq(multiples), ring.eq(walk.ring)]
        m.d.comb += [start[name].eq(walk[name]) for name in start.shape().members]
        chosen = Signal(data.StructLayout({
            "rises": data.ArrayLayout(_rise_layout(self.widths, n), n + 1),
            "from": start.shape(),
            **{name: place.shape()[name].shape for name in ("valid", "phase", "first", "last_of_repeat", "last")},
        }))
        valid = Signal()
        with m.If(move):
            m.d.sync += valid.eq(placed)
            m.d.sync += [chosen[name].eq(place[name]) for name in ("valid", "phase", "first", "last_of_repeat", "last")]
            with m.If(place.first):
                m.d.sync += chosen["from"].eq(start)
            for p in range(n + 1):
                rise = chosen.rises[p]
                row, y = (pick([0, *(steps[part][k] for k in range(1, p + 1))], place.wraps[p]) for part in ("row", "y"))
                wrapped = place.wraps[p] != 0
                m.d.sync += [
                    rise.row.eq(row),
                    rise.y.eq(y),
                    rise.wrapped.eq(wrapped),
                    rise.beside.eq(pick([0, *(steps.column[k] for k in range(1, p + 1))], Mux(wrapped, place.after[p], p))),
                ]
                if self.widths.numbered:
                    m.d.sync += rise.row_less.eq(row - ring)
        return _Chosen(chosen, valid, start)

    def _add(
        self, m: Module, walk: data.View, place: data.View, chosen: _Chosen, move: Signal, free: Signal
    ) -> None:  # fmt: skip
        """Turns each group's places into addresses. Where nothing is chosen no walk has begun, and registers take any value."""
        n = self.lanes
        group = chosen.group
        base = Signal(_start_layout(self.widths))
        lanes = []
        for p in range(n + 1):
            lane = Signal(base.shape(), name=f"lane{p}")
            rise = group.rises[p]
            row = base.row + rise.row
            if self.widths.numbered:
                # Within the ring, as ``in_ring``; the difference does not wait for the sum.
                less = base.row + rise.row_less
                row = Mux(less[-1], row, less)
            m.d.comb += [
                lane.row.eq(row),
                lane.y.eq(base.y + rise.y if self.widths.numbered else 0),
                lane.column.eq(Mux(rise.wrapped, group["from"].column, base.column) + rise.beside),
            ]
            lanes.append(lane)
        following = pick([lanes[a].as_value() for a in self.advances], group.phase)
        out = self.o.p
        with m.If(free):
            for p in range(n):
                m.d.sync += [
                    out.pixels[p].valid.eq(group.valid[p]),
                    out.pixels[p].row.eq(lanes[p].row),
                    out.pixels[p].y.eq(lanes[p].y),
                    out.pixels[p].column.eq(lanes[p].column),
                ]
            m.d.sync += [
                self.o.valid.eq(chosen.valid),
                out.one_row.eq(~group.rises[n - 1].wrapped & group.valid[n - 1]),
                out.first.eq(group.first),
                out.last_of_repeat.eq(group.last_of_repeat),
                out.last.eq(group.last),
            ]
            with m.If(group.first):
                m.d.sync += out.carried.eq(walk.carried)
        start = chosen.start.as_value()
        with m.If(move):
            m.d.sync += base.eq(Mux(place.first, start, Mux(group.last_of_repeat, group["from"].as_value(), following)))


@dataclass(frozen=True)
class _Chosen:
    """The registers of the stage ``choose``."""

    group: data.View
    valid: Signal
    start: data.View
    """The start of the walk that is being set up."""


def _start_layout(widths: Widths) -> data.StructLayout:
    return data.StructLayout({"row": unsigned(widths.row), "y": widths.y, "column": unsigned(widths.column)})


def _rise_layout(widths: Widths, lanes: int) -> data.StructLayout:
    """The distance of a lane's pixel from the first one: its rows, and its columns ``beside`` that pixel, or beside the row's
    start where it ``wrapped``. ``row_less`` is the distance in rows within the ring, for a sum with ``row`` that is beyond its
    end."""
    multiples = multiples_layout(widths, lanes)
    return data.StructLayout({
        "row": unsigned(widths.row),
        **({"row_less": signed(widths.row + 1)} if widths.numbered else {}),
        "y": multiples["y"].shape.elem_shape,
        "beside": multiples["column"].shape.elem_shape,
        "wrapped": unsigned(1),
    })
