"""A copy of the row buffer, for the pass that reads it."""

from __future__ import annotations

from typing import Any

from amaranth import Module, signed
from amaranth.lib import data, wiring
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out

from hw.rows.layouts import RowWrite, place_layout
from isa.config import MachineConfig

LATENCY = 2
"""The cycles from a place to its slice: one for the memory, one for a register behind it."""


class RowMemory(wiring.Component):
    """The slices of ``ROWS_HELD`` rows. ``x`` is the slice at ``place``, ``LATENCY`` cycles later. Reads see a slice from the
    cycle after its write on. Nothing stalls."""

    def __init__(self, config: MachineConfig) -> None:
        self.config = config
        super().__init__({
            "write": In(RowWrite(config)),
            "place": In(place_layout(config)),
            "x": Out(data.ArrayLayout(signed(8), config.row_lanes)),
        })

    def elaborate(self, platform: Any) -> Module:
        m = Module()
        place = place_layout(self.config)
        m.submodules.slices = slices = Memory(shape=8 * self.config.row_lanes, depth=1 << place.size, init=[])
        write = slices.write_port()
        read = slices.read_port()
        m.d.comb += [
            write.en.eq(self.write.en),
            write.addr.eq(self.write.place),
            write.data.eq(self.write.data),
            read.en.eq(1),
            read.addr.eq(self.place),
        ]
        m.d.sync += self.x.eq(read.data)
        return m
