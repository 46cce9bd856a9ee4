"""Loops over the taps of each pixel group."""

from __future__ import annotations

from typing import Any

from amaranth import Const, Module, Mux, Signal, Value
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

from hw.arithmetic.small import at_most
from hw.copies import PINS, Spread
from hw.window.layouts import TapSignature, taps_layout
from hw.window.pixels import Widths, group_layout, ring_add
from isa.config import MachineConfig


class OneTap:
    """A step that takes one tap of each pixel. POOL may take several (``hw/pool/taps.py``)."""

    def __init__(self, settings: Any) -> None:
        self.taken: Value = Const(1)
        """The columns of the kernel that a step takes."""
        self.stride: Value = settings.d_x
        """The columns of the input from the taps of one step to those of the next."""

    def suffice(self, columns: Value, steps: int) -> Value:
        """High if ``columns`` of the kernel are taken in ``steps`` steps or fewer."""
        return at_most(columns, steps)

    def fits(self, new: Any) -> Value:
        """High if a step takes a whole kernel row of the group ``new``."""
        return at_most(new.carried.k_w, 1)

    def begin(self, new: Any) -> list[Any]:
        """The assignments to the registers that the group ``new`` sets."""
        return []

    def marks(self, columns: Value, last_columns: Value) -> dict[str, Value]:
        """The marks of a step. ``columns`` of the kernel row are left; ``last_columns``: they are the last ones."""
        return {}


class TapLoop(wiring.Component):
    """Loops ``ky``, ``kx`` and inner vector over each pixel group, one step in every cycle in which ``move`` is high.

    ``o`` shows the step at hand, if ``o.valid``, from registers. It stalls while ``move`` is low. The next group is taken with
    the last step of the one before, so no cycle is lost between groups. All pixels of a group share the offsets. ``period``
    counts the outer iterations until the input moves on.
    """

    def __init__(self, config: MachineConfig, lanes: int, taps: int = 1) -> None:
        """``taps`` is the most that a step takes."""
        self.config = config
        self.taps = taps
        self.settings = taps_layout(config, taps)
        super().__init__({
            "i": In(stream.Signature(group_layout(Widths.of_input(config), lanes, self.settings))),
            "o": Out(TapSignature(config, lanes, taps)),
            "move": In(1),
        })

    def steps(self, m: Module, settings: Any, new: Any) -> OneTap:
        """The taps of a step, for the instruction at hand and for the group that comes next."""
        return OneTap(settings)

    def elaborate(self, platform: object) -> Module:
        m = Module()
        address = self.config.fm_address_bits
        new, o = self.i.p, self.o
        fresh = new.carried
        t = Signal(self.settings)
        steps = self.steps(m, t, new)
        last_of_repeat, last_of_walk = (Signal(name=name) for name in ("last_of_repeat", "last_of_walk"))
        vectors = Signal(12)
        columns = Signal(8)
        rows = Signal(8)
        period = Signal(12)
        bases = "outer_base", "column_base", "outer_next"
        outer_base, column_base, outer_next = (Signal(address, name=name) for name in bases)
        vectors_over, last_columns, last_row = (Signal(name=name) for name in ("vectors_over", "last_columns", "last_row"))
        """The counters of vectors, columns and rows end with this step. The next step waits for all of them."""
        few_columns, period_over = (Signal(name=name) for name in ("few_columns", "period_over"))
        """``few_columns``: a step takes a whole kernel row. ``period_over``: ``period`` is at 1."""
        columns_over, taps_over = (Signal(name=name) for name in ("columns_over", "taps_over"))
        last_taps = Signal()
        """Both ``last_columns`` and ``last_row`` are high."""
        marks = steps.marks(columns, last_columns)
        if self.config.act16:
            m.d.comb += o.low.eq(t.x16 & ~vectors[0])
        m.d.comb += [
            columns_over.eq(vectors_over & last_columns),
            taps_over.eq(vectors_over & last_taps),
            outer_next.eq(Mux(period_over, outer_base + t.outer_step, outer_base)),
            o.settings.eq(t),
            o.last.eq(taps_over),
            o.last_of_outer.eq(taps_over & last_of_repeat),
            o.last_of_instruction.eq(taps_over & last_of_walk),
            *(getattr(o, name).eq(value) for name, value in marks.items()),
        ]
        with m.If(self.move & o.valid):
            m.d.sync += [
                o.first.eq(0),
                vectors.eq(vectors - 1),
                vectors_over.eq(vectors == 2),
                o.offset.eq(o.offset + t.inner_step),
            ]
            with m.If(vectors_over):
                m.d.sync += [
                    vectors.eq(t.inner),
                    vectors_over.eq(t.inner == 1),
                    columns.eq(columns - steps.taken),
                    last_columns.eq(steps.suffice(columns, 2)),
                    last_taps.eq(steps.suffice(columns, 2) & last_row),
                    o.x.eq(o.x + steps.stride),
                    column_base.eq(column_base + steps.stride),
                    o.offset.eq(column_base + steps.stride),
                ]
            with m.If(columns_over):
                m.d.sync += [
                    columns.eq(t.k_w),
                    last_columns.eq(few_columns),
                    rows.eq(rows - 1),
                    last_row.eq(rows == 2),
                    last_taps.eq(few_columns & (rows == 2)),
                    o.x.eq(0),
                    o.y.eq(o.y + t.d_y),
                    o.row.eq(ring_add(o.row, t.t_ys, t.i_ring)),
                    column_base.eq(outer_base),
                    o.offset.eq(outer_base),
                ]
        m.d.comb += self.i.ready.eq(self.move & (taps_over | ~o.valid))
        opens = Signal()
        take = Signal()
        Spread(m, opens, self.i.ready & self.i.valid & new.first).enable(t, fresh)
        Spread(m, take, self.i.ready & self.i.valid, elsewhere=PINS).enable(o.pixels, new.pixels)
        with m.If(self.i.ready):
            m.d.sync += o.valid.eq(self.i.valid)
            with m.If(take):
                m.d.sync += [
                    *steps.begin(new),
                    *(to.eq(steps.fits(new)) for to in (few_columns, last_columns)),
                    last_of_repeat.eq(new.last_of_repeat),
                    last_of_walk.eq(new.last),
                    o.first.eq(1),
                    vectors.eq(fresh.inner),
                    vectors_over.eq(fresh.inner == 1),
                    columns.eq(fresh.k_w),
                    rows.eq(fresh.k_h),
                    last_row.eq(fresh.k_h == 1),
                    last_taps.eq(steps.fits(new) & (fresh.k_h == 1)),
                    o.row.eq(0),
                    o.y.eq(0),
                    o.x.eq(0),
                ]
                starts = outer_base, column_base, o.offset
                with m.If(new.first):
                    m.d.sync += [period.eq(fresh.outer_period), period_over.eq(fresh.outer_period == 1)]
                    m.d.sync += [start.eq(fresh.i_addr) for start in starts]
                with m.Elif(last_of_repeat):
                    m.d.sync += [start.eq(outer_next) for start in starts]
                    m.d.sync += period.eq(Mux(period_over, t.outer_period, period - 1))
                    m.d.sync += period_over.eq(Mux(period_over, t.outer_period == 1, period == 2))
                with m.Else():
                    m.d.sync += [start.eq(outer_base) for start in starts]
        return m
