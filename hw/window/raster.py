"""Output pixels in raster order, several at a time, with the address parts that belong to each."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from amaranth import Cat, Const, Module, Mux, Shape, Signal, Value, signed, unsigned
from amaranth.hdl import ShapeLike
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out
from amaranth.utils import bits_for

from hw.arithmetic.choice import pick
from hw.window.fields import greatest
from hw.window.near import Near
from isa.config import MachineConfig
from isa.latency import raster_rounds

ROW_NUMBER = signed(bits_for(greatest("o_h") * greatest("s_y") + greatest("k_h") * greatest("d_y")) + 1)
"""Input row numbers: from the first padding row to the last tap of the last row."""
COLUMN_NUMBER = bits_for(greatest("o_w") * greatest("s_x") + greatest("k_w") * greatest("d_x")) + 1
"""Bits of input column numbers, in which those before the first column are great."""


@dataclass(frozen=True)
class Widths:
    """Bits of what a raster counts; rows and columns wrap."""

    row: int
    column: int
    column_step: int
    numbered: bool
    """Rows have numbers, and may lie in a ring; else these inputs are ignored."""

    @property
    def y(self) -> Shape:
        return ROW_NUMBER if self.numbered else unsigned(1)

    def ring_sum(self, total: Value, ring: Value) -> Value:
        return in_ring(total, ring) if self.numbered else total

    @classmethod
    def of_input(cls, config: MachineConfig) -> Widths:
        """Columns are numbers as well as parts of addresses."""
        address = config.fm_address_bits
        return cls(address, max(address, COLUMN_NUMBER), greatest("s_x").bit_length(), True)

    @classmethod
    def of_output(cls, config: MachineConfig) -> Widths:
        address = config.fm_address_bits
        return cls(address, address, greatest("o_xs").bit_length(), False)


def ring_add(a: Value, b: Value, ring: Value) -> Value:
    """``a + b``, within the ring if there is one."""
    return in_ring(a + b, ring)


def in_ring(total: Value, ring: Value) -> Value:
    """A sum of two numbers that are in the ring, so one subtraction suffices, whose sign tells whether it was due. That of no
    ring (0) changes nothing."""
    less = total - ring
    return Mux(less[-1], total, less)[: len(total)]


def raster_layout(widths: Widths, carried: ShapeLike) -> data.StructLayout:
    """A walk: ``repeats`` times over ``height`` rows of ``width`` pixels.

    Each pixel has a ``row`` address (within ``ring`` if that is not 0), a row number ``y`` and a ``column``;
    they start as given and grow by their steps. ``carried`` comes out unchanged.
    """
    return data.StructLayout({
        "width": unsigned(12),
        "height": unsigned(12),
        "repeats": unsigned(12),
        "row": unsigned(widths.row),
        "row_step": unsigned(widths.row),
        "ring": unsigned(widths.row),
        "y": widths.y,
        "y_step": unsigned(greatest("s_y").bit_length() if widths.numbered else 1),
        "column": unsigned(widths.column),
        "column_step": unsigned(widths.column_step),
        "carried": carried,
    })


def pixel_layout(widths: Widths) -> data.StructLayout:
    """One pixel lane; ``valid`` is low for lanes behind the last pixel."""
    return data.StructLayout({
        "valid": unsigned(1),
        "row": unsigned(widths.row),
        "y": widths.y,
        "column": unsigned(widths.column),
    })


def group_layout(widths: Widths, lanes: int, carried: ShapeLike) -> data.StructLayout:
    """The pixels of one step, whether all lanes have one in the same row, and where the step stands: first or last of the walk,
    last of one repeat."""
    return data.StructLayout({
        "pixels": data.ArrayLayout(pixel_layout(widths), lanes),
        "one_row": unsigned(1),
        "first": unsigned(1),
        "last_of_repeat": unsigned(1),
        "last": unsigned(1),
        "carried": carried,
    })


class RasterWalk(wiring.Component):
    """Walks a raster; one group of ``lanes`` pixels per cycle, also from walk to walk.

    ``advances`` lists by how many pixels successive steps go on (``(px_p,)`` for whole groups; ``(2, 1)``
    takes groups of three pixels in two steps). Lanes beyond the advance are invalid, and a walk ends only
    with the last step of the list.

    The settings of a walk are held until its first group is put out, and the next one comes after that; what is needed longer
    is copied. Four stages:

    ======  =========================================================================================
    setup   multiples of the three steps, twice as many in each cycle, while the previous walk still runs
    place   for every lane, how many row ends lie before it and which column follows the last of them
    choose  for every lane, the multiples that its place asks for
    add     the lanes' address parts: last group's pixel plus these
    ======  =========================================================================================

    So the recurrence from group to group is a look at a few bits in ``place`` (``Near``) and one addition in ``add``,
    whatever the number of lanes. Latency 5 and a cycle for each of the ``raster_rounds``; stalls with ``o.ready``.
    """

    def __init__(self, widths: Widths, lanes: int, advances: Sequence[int], carried: ShapeLike) -> None:
        if not advances or max(advances) > lanes or min(advances) < 1:
            raise ValueError(f"raster advances {tuple(advances)}: expected numbers from 1 to {lanes}, the lanes")
        self.widths = widths
        self.lanes = lanes
        self.advances = tuple(advances)
        super().__init__({
            "i": In(stream.Signature(raster_layout(widths, carried))),
            "o": Out(stream.Signature(group_layout(widths, lanes, carried))),
        })

    def elaborate(self, platform: object) -> Module:
        m = Module()
        release, accept, move = (Signal(name=name) for name in ("release", "accept", "move"))
        """The first group of a walk goes into ``place``; whatever is next does; what is there goes into ``choose``."""
        gone = Signal()
        """The first group is put out."""
        s, steps, armed = self._setup(m, release, gone)
        place, placed = self._place(m, s, armed, release, accept)
        chosen = self._choose(m, s, steps, release, place, placed, accept, move)
        self._add(m, s, place, chosen, move, gone)
        return m

    def _setup(self, m: Module, release: Signal, gone: Signal) -> tuple[data.View, data.View, Signal]:
        """Hold a walk, with the multiples of its steps, until its first group is put out; it is ``armed`` until ``release``."""
        armed = Signal()
        loaded = Signal()
        begun = Signal()
        s = Signal(self.i.p.shape())
        steps = Signal(_multiples(self.widths, self.lanes))
        rounds = raster_rounds(self.lanes)
        count = Signal(range(rounds + 1))
        m.d.comb += [self.i.ready.eq(~loaded), armed.eq(loaded & ~begun & (count == rounds))]
        m.d.sync += [
            loaded.eq(Mux(loaded, ~gone, self.i.valid)),
            begun.eq(loaded & (begun | release)),
        ]

        def sums(known: int, row: Any, y: Any, column: Any, ring: Value) -> None:
            """From the multiples up to ``known`` those up to twice as much."""
            for k in range(1, min(known, self.lanes - known) + 1):
                m.d.sync += [
                    steps.row[known + k].eq(self.widths.ring_sum(_sum(row, known, k), ring)),
                    steps.y[known + k].eq(_sum(y, known, k) if self.widths.numbered else 0),
                    steps.column[known + k].eq(_sum(column, known, k)),
                ]

        with m.If(~loaded):
            first = self.i.p.row_step, self.i.p.y_step, self.i.p.column_step
            m.d.sync += [s.eq(self.i.p), count.eq(0)]
            m.d.sync += [steps[part][1].eq(step) for part, step in zip(("row", "y", "column"), first, strict=True)]
            row, y, column = ((step, step) for step in first)
            sums(1, row, y, column, self.i.p.ring)
        with m.Else(), m.Switch(count):
            for k in range(rounds):
                with m.Case(k):
                    m.d.sync += count.eq(k + 1)
                    sums(2 << k, steps.row, steps.y, steps.column, s.ring)
        return s, steps, armed

    def _place(
        self, m: Module, s: data.View, armed: Signal, release: Signal, accept: Signal
    ) -> tuple[data.View, Signal]:
        """Go through the rows; a group is put out whenever ``accept`` is high."""
        n = self.lanes
        running = Signal()
        fresh = Signal()
        left = Signal(12)
        rows = Signal(12)
        width = Signal(12)
        height = Signal(12)
        repeats = Signal(12)
        final = Signal()
        """Of the repeats, that this is the last."""
        phase = Signal(range(max(2, len(self.advances))))
        place = Signal(data.StructLayout({
            "wraps": data.ArrayLayout(range(n + 1), n + 1),
            "after": data.ArrayLayout(range(n + 1), n + 1),
            "valid": data.ArrayLayout(1, n),
            "phase": phase.shape(),
            "first": 1,
            "last_of_repeat": 1,
            "last": 1,
        }))
        placed = Signal()
        near = Near(m, left, rows, n, self.advances, phase)
        amount = pick(self.advances, phase)
        final_phase = phase == len(self.advances) - 1
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
        # What is next is chosen by the walk alone; ``accept`` is late, and only an enable. Where no other walk is ready,
        # what is loaded is loaded again. While the walk at hand is ``fresh``, it is still the one that is set up.
        with m.If(accept | ~running):
            with m.If(walk_over | ~running):
                m.d.sync += [
                    running.eq(armed & ~starts),
                    fresh.eq(1),
                    phase.eq(0),
                    left.eq(s.width),
                    width.eq(s.width),
                    rows.eq(s.height),
                    height.eq(s.height),
                    repeats.eq(s.repeats),
                    final.eq(s.repeats == 1),
                ]
                near.begin(s.width, s.height)
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

    def _choose(
        self, m: Module, s: data.View, s_steps: data.View, release: Signal, place: data.View, placed: Signal, accept: Signal,
        move: Signal,
    ) -> _Chosen:  # fmt: skip
        """Take of each lane the multiples that its place asks for; ``move``: the next stage takes them."""
        n = self.lanes
        steps = Signal(_multiples(self.widths, n))
        start = Signal(_start_layout(self.widths))
        ring = Signal.like(s.ring)
        with m.If(release):
            m.d.sync += [steps.eq(s_steps), ring.eq(s.ring)]
        m.d.comb += [start[name].eq(s[name]) for name in start.shape().members]
        chosen = Signal(data.StructLayout({
            "rises": data.ArrayLayout(_rise_layout(self.widths, n), n + 1),
            "from": start.shape(),
            **{name: place.shape()[name].shape for name in ("valid", "phase", "first", "last_of_repeat", "last")},
        }))
        valid = Signal()
        m.d.comb += accept.eq(~placed | move)
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

    def _add(self, m: Module, s: data.View, place: data.View, chosen: _Chosen, move: Signal, gone: Signal) -> None:
        """Turn each group's places into addresses. Registers take anything where nothing is chosen: no walk has begun."""
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
        free = ~self.o.valid | self.o.ready
        m.d.comb += [move.eq(~chosen.valid | free), gone.eq(chosen.valid & group.first & free)]
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
                m.d.sync += out.carried.eq(s.carried)
        start = chosen.start.as_value()
        with m.If(move):
            m.d.sync += base.eq(Mux(place.first, start, Mux(group.last_of_repeat, group["from"].as_value(), following)))


@dataclass(frozen=True)
class _Chosen:
    """What the stage ``choose`` holds."""

    group: data.View
    valid: Signal
    start: data.View
    """Where the walk that is set up begins."""


def _sum(multiples: Any, a: int, b: int) -> Value:
    """Of two multiples; twice the same needs no adder."""
    return Cat(Const(0, 1), multiples[a]) if a == b else multiples[a] + multiples[b]


def _start_layout(widths: Widths) -> data.StructLayout:
    return data.StructLayout({"row": unsigned(widths.row), "y": widths.y, "column": unsigned(widths.column)})


def _rise_layout(widths: Widths, lanes: int) -> data.StructLayout:
    """By what a lane's pixel is further on than the first, in rows; its column is so far ``beside`` that one's, or beside the
    row's start, where it ``wrapped``. ``row_less``: the same within the ring, where the sum with ``row`` is beyond its end."""
    multiples = _multiples(widths, lanes)
    return data.StructLayout({
        "row": unsigned(widths.row),
        **({"row_less": signed(widths.row + 1)} if widths.numbered else {}),
        "y": multiples["y"].shape.elem_shape,
        "beside": multiples["column"].shape.elem_shape,
        "wrapped": unsigned(1),
    })


def _multiples(widths: Widths, lanes: int) -> data.StructLayout:
    """Multiples 1 to ``lanes`` of the steps; entry 0 is zero and never driven."""
    return data.StructLayout({
        "row": data.ArrayLayout(widths.row, lanes + 1),
        "y": data.ArrayLayout(bits_for(lanes * greatest("s_y")) if widths.numbered else 1, lanes + 1),
        "column": data.ArrayLayout(bits_for(lanes * ((1 << widths.column_step) - 1)), lanes + 1),
    })
