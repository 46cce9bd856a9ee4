"""The window: which feature-map words a convolution or pooling reads, step by step."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from amaranth import Const, Module, Mux, Signal, Value, signed, unsigned
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out
from amaranth.utils import bits_for

from hw.arithmetic.small import at_most
from hw.interfaces import TICKET_BITS
from hw.window.fields import greatest, shape_of, shapes_of
from hw.window.raster import ROW_NUMBER, RasterWalk, Widths, pixel_layout, ring_add
from isa.config import MachineConfig


def _taps(config: MachineConfig) -> dict[str, Any]:
    """What is still needed once the output pixels are known."""
    return {
        **shapes_of(config, "i_addr", "i_ring", "t_ys", "i_h", "i_w", "k_h", "k_w", "d_y", "d_x"),
        "outer_period": 12,
        "outer_step": config.fm_address_bits,
        "inner": shape_of(config, "vectors"),
        "inner_step": shape_of(config, "i_cs"),
        "pad_value": shape_of(config, "pad_value"),
        "ticket": TICKET_BITS,
    }


_REACH = bits_for(max(greatest("k_h") * greatest("d_y"), greatest("k_w") * greatest("d_x")))
"""Bits of the distance from the first tap of a window to another."""

_SEVERAL = {"several": 1, "neighbours": 1}
"""More than one tap may be taken in a step; pixels and taps of a row are neighbours (both steps are 1, or one pixel lane)."""


def window_layout(config: MachineConfig, taps: int = 1) -> data.StructLayout:
    """A window walk; the fields are those of the instruction, and two loops around and inside it.

    ``outer`` iterations outside everything: every ``outer_period`` of them (0: never) the input moves on by
    ``outer_step`` words. ``inner`` channel vectors innermost, ``inner_step`` words apart.
    """
    return data.StructLayout({
        **_taps(config),
        **shapes_of(config, "i_off", "i_ys", "pad_t", "pad_l", "s_y", "s_x", "o_h", "o_w"),
        "outer": 12,
        **(_SEVERAL if taps > 1 else {}),
    })


def step_layout(config: MachineConfig, lanes: int, taps: int = 1) -> data.StructLayout:
    """A step of ``lanes`` pixels: what each port reads, or that it reads nothing and sees ``pad_value``."""
    word = data.StructLayout({"read": unsigned(1), "addr": unsigned(config.fm_address_bits)})
    words = data.ArrayLayout(word, lanes + taps - 1)
    return data.StructLayout({
        "lanes": words,
        **({"count": unsigned(taps.bit_length()), "side_by_side": unsigned(1)} if taps > 1 else {}),
        "pad_value": signed(8),
        "ticket": unsigned(TICKET_BITS),
        "first": unsigned(1),
        "last": unsigned(1),
        "last_of_outer": unsigned(1),
        "last_of_instruction": unsigned(1),
    })


@dataclass(frozen=True)
class _Steps:
    """How many of up to ``taps`` taps a step takes."""

    taps: int
    side_by_side: Value
    second: Value
    """What is not side by side goes two by two."""

    @property
    def most(self) -> Value:
        return self._chosen(*(Const(number) for number in (self.taps, 2, 1)))

    def suffice(self, columns: Value, steps: int = 1) -> Value:
        """Whether ``columns`` taps are taken in so many steps, or fewer."""
        return self._chosen(*(at_most(columns, number * steps) for number in (self.taps, 2, 1)))

    def _chosen(self, several: Value, two: Value, one: Value) -> Value:
        return Mux(self.side_by_side, several, Mux(self.second, two, one)) if self.taps > 1 else one


class WindowGenerator(wiring.Component):
    """Loops outer iteration, pixel group, ``ky``, ``kx``, inner vector; one step per cycle.

    No cycle is lost at any loop end nor from instruction to instruction, unless an instruction has
    fewer than about ``px_p + 6`` steps. Everything is additions and comparisons: the raster gives each
    lane the row, row number and column of its first tap, the tap loop keeps the offsets common to all lanes.

    ======  ==========================================================================
    raster  ``RasterWalk``: the pixels of a group
    loop    counters of ``ky``, ``kx`` and vector with their offsets
    sum     per lane: row, row number, column of this tap
    wrap    the row within the ring; padding or not
    address row + column
    ======  ==========================================================================

    Latency 9 and the raster's rounds from instruction to first step; stalls with ``o.ready``.

    **Several taps in a step.** With ``taps`` = T there are T - 1 ports beside those of the pixels, and a step takes up to T
    taps of a kernel row if the instruction allows ``several``. Port ``p`` reads the first tap of pixel ``p``, and

    ==============  =====================================================  ========================  =====================
    group           taps in a step                                         port ``px_p + e``         tap ``j`` of pixel p
    ==============  =====================================================  ========================  =====================
    side by side    T: ``neighbours``, all pixels in one row               pixel 0 + ``px_p + e``    port ``p + j``
    any other       2 if T > ``px_p``: a second tap for each pixel         second tap of pixel e     port ``p + j px_p``
    any other       1 else                                                 nothing                   port ``p``
    ==============  =====================================================  ========================  =====================

    Side by side, ``px_p + T - 1`` neighbouring words serve ``px_p T`` taps, one of each phase; so do the four of two pixels at
    stride 2. A step at a kernel row's end may have fewer taps; ports for none of them read nothing.
    """

    def __init__(self, config: MachineConfig, lanes: int, taps: int = 1) -> None:
        self.config = config
        self.lanes = lanes
        self.taps = taps
        self.widths = Widths.of_input(config)
        self.carried = data.StructLayout({**_taps(config), **(_SEVERAL if taps > 1 else {})})
        super().__init__({
            "i": In(stream.Signature(window_layout(config, taps))),
            "o": Out(stream.Signature(step_layout(config, lanes, taps))),
        })

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.submodules.raster = raster = RasterWalk(self.widths, self.lanes, (self.lanes,), self.carried)
        self._start(m, raster)
        go = Signal()
        m.d.comb += go.eq(~self.o.valid | self.o.ready)
        self._sum(m, go, self._loop(m, go, raster))
        return m

    def _loop(self, m: Module, go: Signal, raster: RasterWalk) -> data.View:
        """Count through the taps of a group; returns the tap at hand."""
        address = self.config.fm_address_bits
        t = Signal(self.carried)
        tap = Signal(data.StructLayout({
            "valid": 1,
            "pixels": data.ArrayLayout(pixel_layout(self.widths), self.lanes),
            "settings": self.carried,
            "side_by_side": 1,
            "count": self.taps.bit_length(),
            "row": address,
            "y": _REACH,
            "x": _REACH,
            "offset": address,
            "first": 1,
            "last": 1,
            "last_of_outer": 1,
            "last_of_instruction": 1,
        }))
        pixels = Signal(tap.shape()["pixels"].shape)
        valid = Signal()
        first = Signal()
        last_of_repeat = Signal()
        last_of_walk = Signal()
        vectors = Signal(12)
        columns = Signal(8)
        rows = Signal(8)
        period = Signal(12)
        row = Signal(address)
        y = Signal(_REACH)
        x = Signal(_REACH)
        outer_base, column_base, offset, outer_next = (
            Signal(address, name=name) for name in ("outer_base", "column_base", "offset", "outer_next")
        )
        vectors_over, last_columns, last_row = (Signal(name=name) for name in ("vectors_over", "last_columns", "last_row"))
        """Of the counters of vectors, columns and rows, that they end with this step; the next tap waits for all of them."""
        few_columns = Signal()
        """A step takes a whole kernel row."""
        columns_over, taps_over = (Signal(name=name) for name in ("columns_over", "taps_over"))
        period_over = Signal()
        """``period`` is at 1."""
        side_by_side = Signal()
        second = t.several if self.taps > self.lanes else Const(0)
        steps = _Steps(self.taps, side_by_side, second)
        most = max(self.taps, greatest("d_x") << (self.taps > self.lanes))
        step = Signal(range(most + 1), name="step") if self.taps > 1 else t.d_x
        """Columns between the taps of one step and those of the next."""
        m.d.comb += [
            tap.side_by_side.eq(side_by_side),
            tap.count.eq(Mux(last_columns, columns, steps.most)),
            columns_over.eq(vectors_over & last_columns),
            taps_over.eq(columns_over & last_row),
            outer_next.eq(Mux(period_over, outer_base + t.outer_step, outer_base)),
        ]
        with m.If(go & valid):
            m.d.sync += [first.eq(0), vectors.eq(vectors - 1), vectors_over.eq(vectors == 2), offset.eq(offset + t.inner_step)]
            with m.If(vectors_over):
                m.d.sync += [
                    vectors.eq(t.inner),
                    vectors_over.eq(t.inner == 1),
                    columns.eq(columns - steps.most),
                    last_columns.eq(steps.suffice(columns, 2)),
                    x.eq(x + step),
                    column_base.eq(column_base + step),
                    offset.eq(column_base + step),
                ]
            with m.If(columns_over):
                m.d.sync += [
                    columns.eq(t.k_w),
                    last_columns.eq(few_columns),
                    rows.eq(rows - 1),
                    last_row.eq(rows == 2),
                    x.eq(0),
                    y.eq(y + t.d_y),
                    row.eq(ring_add(row, t.t_ys, t.i_ring)),
                    column_base.eq(outer_base),
                    offset.eq(outer_base),
                ]
        new = raster.o.p
        fresh = new.carried
        beside = Signal()
        few = _Steps(self.taps, beside, fresh.several if self.taps > self.lanes else Const(0)).suffice(fresh.k_w)
        with m.If(go & (taps_over | ~valid)):
            m.d.comb += raster.o.ready.eq(1)
            m.d.sync += valid.eq(raster.o.valid)
            with m.If(raster.o.valid):
                if self.taps > 1:
                    m.d.comb += beside.eq(fresh.neighbours & new.one_row)
                    apart = fresh.d_x << fresh.several if self.taps > self.lanes else fresh.d_x
                    m.d.sync += [side_by_side.eq(beside), step.eq(Mux(beside, self.taps, apart))]
                m.d.sync += [to.eq(few) for to in (few_columns, last_columns)]
                m.d.sync += [
                    pixels.eq(new.pixels),
                    last_of_repeat.eq(new.last_of_repeat),
                    last_of_walk.eq(new.last),
                    first.eq(1),
                    vectors.eq(fresh.inner),
                    vectors_over.eq(fresh.inner == 1),
                    columns.eq(fresh.k_w),
                    rows.eq(fresh.k_h),
                    last_row.eq(fresh.k_h == 1),
                    row.eq(0),
                    y.eq(0),
                    x.eq(0),
                ]
                with m.If(new.first):
                    m.d.sync += [t.eq(fresh), period.eq(fresh.outer_period), period_over.eq(fresh.outer_period == 1)]
                    m.d.sync += outer_base.eq(fresh.i_addr)
                    m.d.sync += [column_base.eq(fresh.i_addr), offset.eq(fresh.i_addr)]
                with m.Elif(last_of_repeat):
                    m.d.sync += [outer_base.eq(outer_next), column_base.eq(outer_next), offset.eq(outer_next)]
                    m.d.sync += period.eq(Mux(period_over, t.outer_period, period - 1))
                    m.d.sync += period_over.eq(Mux(period_over, t.outer_period == 1, period == 2))
                with m.Else():
                    m.d.sync += [column_base.eq(outer_base), offset.eq(outer_base)]
        m.d.comb += [
            tap.valid.eq(valid),
            tap.pixels.eq(pixels),
            tap.settings.eq(t),
            tap.row.eq(row),
            tap.y.eq(y),
            tap.x.eq(x),
            tap.offset.eq(offset),
            tap.first.eq(first),
            tap.last.eq(taps_over),
            tap.last_of_outer.eq(taps_over & last_of_repeat),
            tap.last_of_instruction.eq(taps_over & last_of_walk),
        ]
        return tap

    def _sum(self, m: Module, go: Signal, tap: data.View) -> None:
        """Stages sum, wrap and address."""
        address = self.config.fm_address_bits
        settings = {**shapes_of(self.config, "i_ring", "i_h", "i_w", "pad_value"), "ticket": TICKET_BITS}
        flags: tuple[str, ...] = ("first", "last", "last_of_outer", "last_of_instruction")
        several: dict[str, int] = {}
        if self.taps > 1:
            settings["d_x"] = shape_of(self.config, "d_x")
            several = {"side_by_side": 1, "count": self.taps.bit_length()}
        common = data.StructLayout({"valid": 1, **settings, **dict.fromkeys(flags, 1), **several})
        flags += tuple(several)
        behind = []
        summed = Signal(common)
        wrapped = Signal(common)
        out = self.o.p
        with m.If(go):
            m.d.sync += [summed.valid.eq(tap.valid), wrapped.eq(summed), self.o.valid.eq(wrapped.valid)]
            m.d.sync += [summed[name].eq(tap.settings[name]) for name in settings]
            m.d.sync += [summed[name].eq(tap[name]) for name in flags]
            m.d.sync += [out[name].eq(wrapped[name]) for name in ("pad_value", "ticket", *flags)]
            for p in range(self.lanes):
                pixel = tap.pixels[p]
                row = Signal(address + 1, name=f"row{p}")
                y = Signal(ROW_NUMBER.width, name=f"y{p}")
                x = Signal(self.widths.column, name=f"x{p}")
                base = Signal(address, name=f"base{p}")
                inside = Signal(name=f"inside{p}")
                row_in_ring = Signal(address, name=f"row_in_ring{p}")
                base_later = Signal(address, name=f"base_later{p}")
                read = Signal(name=f"read{p}")
                m.d.sync += [
                    row.eq(pixel.row + tap.row),
                    y.eq(pixel.y + tap.y),
                    x.eq(pixel.column + tap.x),
                    base.eq(pixel.column + tap.offset),
                    inside.eq(pixel.valid),
                    row_in_ring.eq(ring_add(row, 0, summed.i_ring)),
                    base_later.eq(base),
                    read.eq(inside & (y < summed.i_h) & (x < summed.i_w)),
                    out.lanes[p].read.eq(read),
                    out.lanes[p].addr.eq(base_later + row_in_ring),
                ]
                behind.append((inside & (y < summed.i_h), x, base, row_in_ring))
            for e in range(self.taps - 1):
                self._beside(m, e, summed, wrapped, *behind[e % self.lanes])

    def _beside(
        self, m: Module, e: int, summed: data.View, wrapped: data.View, inside: Value, x: Signal, base: Signal,
        row_in_ring: Signal,
    ) -> None:  # fmt: skip
        """Port ``px_p + e``, whose word is in the row of pixel ``e mod px_p``; its column is compared a stage later."""
        further = Signal(self.config.fm_address_bits, name=f"further{e}")
        x_further = Signal(self.widths.column, name=f"x_further{e}")
        read = Signal(name=f"read_beside{e}")
        needed = Mux(summed.side_by_side, summed.count > e + 1, (summed.count > 1) & (e < self.lanes))
        away = Mux(summed.side_by_side, self.lanes * (1 + e // self.lanes), summed.d_x)
        port = self.o.p.lanes[self.lanes + e]
        m.d.sync += [
            further.eq(base + away),
            x_further.eq(x + away),
            read.eq(inside & needed),
            port.read.eq(read & (x_further < wrapped.i_w)),
            port.addr.eq(further + row_in_ring),
        ]

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
        m.d.comb += [getattr(r.carried, name).eq(getattr(self.i.p, name)) for name in self.carried.members]
