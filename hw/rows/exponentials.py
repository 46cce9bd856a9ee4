"""The tables of softmax, which give a denominator and a numerator for every lane in every cycle."""

from __future__ import annotations

from typing import Any

from amaranth import Cat, Module, Value, unsigned
from amaranth.lib import data, wiring
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out

from hw.interfaces import BufferWrite
from hw.move.parameters import columns
from isa.config import MachineConfig
from isa.instructions import Buffer
from isa.rows import E_BITS, T_BITS

ENTRIES = 256
T_FIRST = 32
"""The first bit of a numerator in its word."""


class Exponentials(wiring.Component):
    """``e`` and ``t`` of the requested entries, one cycle later. Each lane has a copy of both tables, because lanes look up
    different entries in the same cycle. LOADP fills them beat by beat. Nothing stalls. A copy is a block RAM of 256 x 31 or 256
    x 35 bits."""

    def __init__(self, config: MachineConfig) -> None:
        self.config = config
        lanes = config.row_lanes
        index = In(data.ArrayLayout(8, lanes))
        super().__init__({
            "write": In(exponential_write(config)),
            "e_index": index,
            "t_index": index,
            "e": Out(data.ArrayLayout(unsigned(E_BITS), lanes)),
            "t": Out(data.ArrayLayout(unsigned(T_BITS), lanes)),
        })

    def elaborate(self, platform: Any) -> Module:
        m = Module()
        for lane in range(self.config.row_lanes):
            m.d.comb += [
                self.e[lane].eq(self._table(m, f"e{lane}", self.e_index[lane], 0, E_BITS)),
                self.t[lane].eq(self._table(m, f"t{lane}", self.t_index[lane], T_FIRST, T_BITS)),
            ]
        return m

    def _table(self, m: Module, name: str, index: Value, first: int, bits: int) -> Value:
        """A table of ``bits`` bits of the words from bit ``first`` on. It has a memory for each beat with some of these
        bits."""
        beat = self.config.axi_data_bits
        parts = []
        for column in range(first // beat, (first + bits - 1) // beat + 1):
            low, high = max(first - column * beat, 0), min(first + bits - column * beat, beat)
            memory = Memory(shape=high - low, depth=ENTRIES, init=[])
            m.submodules[f"{name}_{column}"] = memory
            write = memory.write_port()
            read = memory.read_port()
            m.d.comb += [
                write.en.eq(self.write.en & (self.write.column == column)),
                write.addr.eq(self.write.addr),
                write.data.eq(self.write.data[low:high]),
                read.en.eq(1),
                read.addr.eq(index),
            ]
            parts.append(read.data)
        return Cat(parts)


def exponential_write(config: MachineConfig) -> BufferWrite:
    """The write port of the tables, for LOADP."""
    return BufferWrite(8, columns(config, Buffer.EXP), config.axi_data_bits)
