"""The second pass over a row of softmax, which makes the sum of its denominators."""

from __future__ import annotations

from typing import Any

from amaranth import Module, Mux, Signal, Value, signed, unsigned
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from hw.misc.delay import Delay
from hw.rows.layouts import TOTALLED, RowWrite, fields_layout
from hw.rows.memory import LATENCY as MEMORY
from hw.rows.memory import RowMemory
from hw.rows.row_pass import RowPass
from hw.rows.tree import tree
from isa.config import MachineConfig
from isa.rows import E_BITS

TABLE = 2
"""The cycles from an index to its denominator: one for the table, one for a register behind it."""


def indices(m: Module, x: Any, most: Value, name: str) -> list[Signal]:
    """The entries of the exponential tables for a slice, one cycle later: ``x - most + 255``."""
    found = []
    for lane, element in enumerate(x):
        index = Signal(8, name=f"{name}{lane}", reset_less=True)
        m.d.sync += index.eq((element - most - 1)[:8])
        found.append(index)
    return found


def latency(config: MachineConfig) -> int:
    """The cycles from the last step of a row to its total."""
    return MEMORY + 1 + TABLE + (config.row_lanes - 1).bit_length() + 1


class Totals(wiring.Component):
    """Sums up the denominators of each row that is offered at ``most`` with its greatest element. ``o`` gets this element and
    the sum of ``E[x - most]``, and must have room. It takes a slice in every cycle and never stalls. The next row's first slice
    comes in the cycle after the last one, from which ``o`` comes ``latency`` cycles later.

    The tables are outside: ``e`` comes a cycle after its ``index``. ``begin`` starts with the first row of an instruction.
    """

    def __init__(self, config: MachineConfig) -> None:
        self.config = config
        lanes = config.row_lanes
        super().__init__({
            "begin": In(1),
            "fields": In(fields_layout(config)),
            "write": In(RowWrite(config)),
            "most": In(stream.Signature(signed(8))),
            "index": Out(data.ArrayLayout(8, lanes)),
            "e": In(data.ArrayLayout(unsigned(E_BITS), lanes)),
            "valid": Out(1),
            "o": Out(TOTALLED),
        })

    def elaborate(self, platform: Any) -> Module:
        m = Module()
        m.submodules.memory = memory = RowMemory(self.config)
        m.submodules.row_pass = row_pass = RowPass(self.config)
        wiring.connect(m, wiring.flipped(self.write), memory.write)
        step = row_pass.o
        m.d.comb += [
            row_pass.restart.eq(self.begin),
            row_pass.go.eq(self.most.valid & ~self.begin),
            row_pass.words.eq(self.fields.words),
            row_pass.last_lanes.eq(self.fields.last_lanes),
            self.most.ready.eq(step.valid & step.closes),
            memory.place.eq(step.place),
        ]
        most = Delay(m, self.most.payload, "most")
        surplus = Delay(m, ~step.used, "surplus")(MEMORY + 1 + TABLE - 1)
        for lane, index in enumerate(indices(m, memory.x, most(MEMORY), "index")):
            m.d.comb += self.index[lane].eq(index)
        seen = []
        for lane in range(self.config.row_lanes):
            value = Signal(E_BITS, name=f"seen{lane}", reset_less=True)
            with m.If(surplus[lane]):
                m.d.sync += value.eq(0)
            with m.Else():
                m.d.sync += value.eq(self.e[lane])
            seen.append(value)
        total = tree(m, seen, lambda a, b: a + b, "total")
        valid, opens, closes = (Delay(m, step[name], name)(latency(self.config) - 1) for name in ("valid", "opens", "closes"))
        with m.If(valid):
            m.d.sync += self.o.total.eq(Mux(opens, 0, self.o.total) + total)
        m.d.sync += self.valid.eq(valid & closes)
        m.d.comb += self.o.most.eq(most(latency(self.config)))
        return m
