"""The window: which feature-map words a convolution or pooling reads, step by step."""

from __future__ import annotations

from amaranth import Module, Mux, Signal, signed, unsigned
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from hw.window.raster import ADDRESS, RasterWalk, group_layout, ring_add

_TAPS = {
    "i_addr": 20,
    "i_ring": 20,
    "t_ys": 20,
    "i_h": 12,
    "i_w": 12,
    "k_h": 8,
    "k_w": 8,
    "d_y": 6,
    "d_x": 6,
    "outer_period": 12,
    "outer_step": ADDRESS,
    "inner": 12,
    "inner_step": 20,
    "pad_value": signed(8),
    "pc": 32,
}
_TAP_SETTINGS = data.StructLayout(_TAPS)
"""What is still needed once the output pixels are known."""

WINDOW_LAYOUT = data.StructLayout({
    **_TAPS,
    "i_off": 24,
    "i_ys": 20,
    "pad_t": 8,
    "pad_l": 8,
    "s_y": 4,
    "s_x": 4,
    "o_h": 12,
    "o_w": 12,
    "outer": 12,
})
"""A window walk; the fields are those of the instruction, and two loops around and inside it.

``outer`` iterations outside everything: every ``outer_period`` of them (0: never) the input moves on by
``outer_step`` words. ``inner`` channel vectors innermost, ``inner_step`` words apart.
"""


def step_layout(lanes: int) -> data.StructLayout:
    """One tap on ``lanes`` pixels: what each lane reads, or that it reads nothing and sees ``pad_value``."""
    return data.StructLayout({
        "lanes": data.ArrayLayout(data.StructLayout({"read": unsigned(1), "addr": unsigned(ADDRESS)}), lanes),
        "pad_value": signed(8),
        "pc": unsigned(32),
        "first": unsigned(1),
        "last": unsigned(1),
        "last_of_outer": unsigned(1),
        "last_of_instruction": unsigned(1),
    })


class WindowGenerator(wiring.Component):
    """Loops outer iteration, pixel group, ``ky``, ``kx``, inner vector; one step per cycle.

    No cycle is lost at any loop end nor from instruction to instruction, unless an instruction has
    fewer than about ``px_p + 4`` steps. Everything is additions and comparisons: the raster gives each
    lane the row, row number and column of its first tap, the tap loop keeps the offsets common to all lanes.

    ======  ==========================================================================
    raster  ``RasterWalk``: the pixels of a group
    loop    counters of ``ky``, ``kx`` and vector with their offsets
    sum     per lane: row, row number, column of this tap
    wrap    the row within the ring; padding or not
    address row + column
    ======  ==========================================================================

    Latency ``px_p + 7`` from instruction to first step; stalls with ``o.ready``.
    """

    def __init__(self, lanes: int) -> None:
        self.lanes = lanes
        super().__init__({
            "i": In(stream.Signature(WINDOW_LAYOUT)),
            "o": Out(stream.Signature(step_layout(lanes))),
        })

    def elaborate(self, platform: object) -> Module:
        m = Module()
        n = self.lanes
        m.submodules.raster = raster = RasterWalk(n, (n,), _TAP_SETTINGS)
        self._start(m, raster)

        go = Signal()
        m.d.comb += go.eq(~self.o.valid | self.o.ready)

        # loop
        valid = Signal()
        group = Signal(group_layout(n, 0))
        t = Signal(_TAP_SETTINGS)
        vectors = Signal(12)
        columns = Signal(8)
        rows = Signal(8)
        period = Signal(12)
        outer_base = Signal(ADDRESS)
        row_base = Signal(ADDRESS)
        offset = Signal(ADDRESS)
        t_row = Signal(ADDRESS)
        t_y = Signal(14)
        t_x = Signal(14)
        first = Signal()
        vectors_over = Signal()
        columns_over = Signal()
        taps_over = Signal()
        outer_next = Signal(ADDRESS)
        period_over = Signal()
        m.d.comb += [
            vectors_over.eq(vectors == 1),
            columns_over.eq(vectors_over & (columns == 1)),
            taps_over.eq(columns_over & (rows == 1)),
            period_over.eq(period == 1),
            outer_next.eq(Mux(period_over, outer_base + t.outer_step, outer_base)),
        ]
        new = raster.o.p
        c = new.carried
        with m.If(go & valid):
            m.d.sync += [first.eq(0), vectors.eq(vectors - 1), offset.eq(offset + t.inner_step)]
            with m.If(vectors_over):
                m.d.sync += [
                    vectors.eq(t.inner),
                    columns.eq(columns - 1),
                    t_x.eq(t_x + t.d_x),
                    row_base.eq(row_base + t.d_x),
                    offset.eq(row_base + t.d_x),
                ]
            with m.If(columns_over):
                m.d.sync += [
                    columns.eq(t.k_w),
                    rows.eq(rows - 1),
                    t_x.eq(0),
                    t_y.eq(t_y + t.d_y),
                    t_row.eq(ring_add(t_row, t.t_ys, t.i_ring)),
                    row_base.eq(outer_base),
                    offset.eq(outer_base),
                ]
        with m.If(go & (taps_over | ~valid)):
            m.d.comb += raster.o.ready.eq(1)
            m.d.sync += valid.eq(raster.o.valid)
            with m.If(raster.o.valid):
                m.d.sync += [
                    group.pixels.eq(new.pixels),
                    group.last_of_repeat.eq(new.last_of_repeat),
                    group.last.eq(new.last),
                    first.eq(1),
                    vectors.eq(c.inner),
                    columns.eq(c.k_w),
                    rows.eq(c.k_h),
                    t_row.eq(0),
                    t_y.eq(0),
                    t_x.eq(0),
                ]
                with m.If(new.first):
                    m.d.sync += [t.eq(c), period.eq(c.outer_period), outer_base.eq(c.i_addr)]
                    m.d.sync += [row_base.eq(c.i_addr), offset.eq(c.i_addr)]
                with m.Elif(group.last_of_repeat):
                    m.d.sync += [outer_base.eq(outer_next), row_base.eq(outer_next), offset.eq(outer_next)]
                    m.d.sync += period.eq(Mux(period_over, t.outer_period, period - 1))
                with m.Else():
                    m.d.sync += [row_base.eq(outer_base), offset.eq(outer_base)]

        # sum, wrap, address
        common = data.StructLayout({
            "valid": 1, "ring": 20, "i_h": 12, "i_w": 12, "pad_value": signed(8), "pc": 32,
            "first": 1, "last": 1, "last_of_outer": 1, "last_of_instruction": 1,
        })  # fmt: skip
        summed = Signal(common)
        wrapped = Signal(common)
        out = self.o.p
        with m.If(go):
            m.d.sync += [
                summed.valid.eq(valid),
                summed.ring.eq(t.i_ring),
                summed.i_h.eq(t.i_h),
                summed.i_w.eq(t.i_w),
                summed.pad_value.eq(t.pad_value),
                summed.pc.eq(t.pc),
                summed.first.eq(first),
                summed.last.eq(taps_over),
                summed.last_of_outer.eq(taps_over & group.last_of_repeat),
                summed.last_of_instruction.eq(taps_over & group.last),
                wrapped.eq(summed),
                self.o.valid.eq(wrapped.valid),
                out.pad_value.eq(wrapped.pad_value),
                out.pc.eq(wrapped.pc),
                out.first.eq(wrapped.first),
                out.last.eq(wrapped.last),
                out.last_of_outer.eq(wrapped.last_of_outer),
                out.last_of_instruction.eq(wrapped.last_of_instruction),
            ]
            for p in range(n):
                pixel = group.pixels[p]
                row = Signal(ADDRESS + 1, name=f"row{p}")
                y = Signal(18, name=f"y{p}")
                x = Signal(ADDRESS, name=f"x{p}")
                base = Signal(ADDRESS, name=f"base{p}")
                inside = Signal(name=f"inside{p}")
                row_in_ring = Signal(ADDRESS, name=f"row_in_ring{p}")
                base_later = Signal(ADDRESS, name=f"base_later{p}")
                read = Signal(name=f"read{p}")
                m.d.sync += [
                    row.eq(pixel.row + t_row),
                    y.eq(pixel.y + t_y),
                    x.eq(pixel.column + t_x),
                    base.eq(pixel.column + offset),
                    inside.eq(pixel.valid),
                    row_in_ring.eq(ring_add(row, 0, summed.ring)),
                    base_later.eq(base),
                    read.eq(inside & (y < summed.i_h) & (x < summed.i_w)),
                    out.lanes[p].read.eq(read),
                    out.lanes[p].addr.eq(base_later + row_in_ring),
                ]
        return m

    def _start(self, m: Module, raster: RasterWalk) -> None:
        r = raster.i.p
        m.d.comb += [
            raster.i.valid.eq(self.i.valid),
            self.i.ready.eq(raster.i.ready),
            r.width.eq(self.i.p.o_w),
            r.height.eq(self.i.p.o_h),
            r.repeats.eq(self.i.p.outer),
            r.row.eq(self.i.p.i_off),
            r.row_step.eq(self.i.p.i_ys),
            r.ring.eq(self.i.p.i_ring),
            r.y.eq(-self.i.p.pad_t),
            r.y_step.eq(self.i.p.s_y),
            r.column.eq(-self.i.p.pad_l),
            r.column_step.eq(self.i.p.s_x),
        ]
        m.d.comb += [getattr(r.carried, name).eq(getattr(self.i.p, name)) for name in _TAPS]
