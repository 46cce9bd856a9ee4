"""Makes the addresses of the words that a tap of some pixels reads."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from amaranth import Module, Mux, Signal, Value
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from hw.copies import Spread
from hw.interfaces import TICKET_BITS
from hw.window.fields import shapes_of
from hw.window.layouts import TapSignature, marks_of, step_layout
from hw.window.pixels import ROW_NUMBER, Widths, ring_add
from isa.config import MachineConfig


@dataclass(frozen=True)
class Row:
    """The row of a pixel's tap, in the stage ``wrap``. ``in_ring`` comes a stage later."""

    inside: Value
    """The lane has a pixel, and the input has that row."""
    x: Signal
    base: Signal
    in_ring: Signal


class TapAddresses(wiring.Component):
    """Adds each pixel's row and column to the offsets of the tap, one step per cycle, with a latency of 3.

    ======= ==============================================
    sum     per lane: row, row number, column of this tap
    wrap    the row within the ring; padding or not
    address row + column
    ======= ==============================================

    All stages stall while ``o`` is refused. ``move`` is high when they do not.
    """

    def __init__(self, config: MachineConfig, lanes: int, taps: int = 1) -> None:
        """``taps`` is the most that a step takes."""
        self.config = config
        self.lanes = lanes
        self.taps = taps
        super().__init__({
            "i": In(TapSignature(config, lanes, taps)),
            "o": Out(stream.Signature(step_layout(config, lanes, taps))),
            "move": Out(1),
        })

    def elaborate(self, platform: object) -> Module:
        m = Module()
        address = self.config.fm_address_bits
        tap, out = self.i, self.o.p
        settings = {**shapes_of(self.config, "i_ring", "i_h", "i_w", "d_x", "pad_value"), "ticket": TICKET_BITS}
        marks = marks_of(self.taps)
        common = data.StructLayout({"valid": 1, **settings, **marks})
        summed = Signal(common)
        wrapped = Signal(common)
        moves = Spread(m, self.move, ~self.o.valid | self.o.ready, elsewhere=2 * common.size)
        with m.If(self.move):
            m.d.sync += [summed.valid.eq(tap.valid), wrapped.eq(summed), self.o.valid.eq(wrapped.valid)]
            m.d.sync += [summed[name].eq(tap.settings[name]) for name in settings]
            if self.config.act16:
                m.d.sync += summed.pad_value.eq(Mux(tap.low, tap.settings.pad_low, tap.settings.pad_value))
            m.d.sync += [summed[name].eq(getattr(tap, name)) for name in marks]
            m.d.sync += [out[name].eq(wrapped[name]) for name in ("pad_value", "ticket", *marks)]
        found = []
        for p in range(self.lanes):
            pixel = tap.pixels[p]
            row = Signal(address + 1, name=f"row{p}")
            y = Signal(ROW_NUMBER.width, name=f"y{p}")
            x = Signal(Widths.of_input(self.config).column, name=f"x{p}")
            base = Signal(address, name=f"base{p}")
            is_pixel = Signal(name=f"is_pixel{p}")
            in_ring = Signal(address, name=f"row_in_ring{p}")
            base_later = Signal(address, name=f"base_later{p}")
            read = Signal(name=f"read{p}")
            inside = is_pixel & (y < summed.i_h)
            port = out.lanes[p]
            with m.If(moves.of(sum(map(len, (row, y, x, base, in_ring, base_later, port.addr))))):
                m.d.sync += [
                    row.eq(pixel.row + tap.row),
                    y.eq(pixel.y + tap.y),
                    x.eq(pixel.column + tap.x),
                    base.eq(pixel.column + tap.offset),
                    is_pixel.eq(pixel.valid),
                    in_ring.eq(ring_add(row, 0, summed.i_ring)),
                    base_later.eq(base),
                    read.eq(inside & (x < summed.i_w)),
                    port.read.eq(read),
                    port.addr.eq(base_later + in_ring),
                ]
            found.append(Row(inside, x, base, in_ring))
        self.more_ports(m, moves, found, summed, wrapped)
        return m

    def more_ports(self, m: Module, moves: Spread, rows: Sequence[Row], summed: Any, wrapped: Any) -> None:
        """Drives the ports behind those of the pixels, which step when it ``moves``. There are none if a step takes one tap."""
