"""Parameter memories: weights, requantisation records, depthwise taps."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from amaranth import Cat, Module, Signal
from amaranth.lib import wiring
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In
from amaranth.utils import ceil_log2

from hw.interfaces import BufferRead, BufferWrite
from isa.config import MachineConfig


class ParameterMemory(wiring.Component):
    """``depth`` words that are written one AXI beat at a time and read whole.

    A word is cut into columns of one beat each, every column a memory of its own (block RAM), so that a
    write enables one column and needs no byte enables. The last column is as narrow as the word leaves it:
    the surplus bytes of its beat are dropped.

    ============  ======================================================================
    read          data one cycle after ``en``, held until the next ``en``; a column with a delay so many cycles later
    write         seen by a read in the next cycle; a read in the same cycle returns the old word
    stalls        never
    ============  ======================================================================
    """

    def __init__(self, depth: int, word_bits: int, beat_bits: int, delays: Sequence[int] = ()) -> None:
        """``delays``: cycles by which each column is read later; none unless given."""
        self.depth = depth
        self.word_bits = word_bits
        self.columns = -(-word_bits // beat_bits)
        self.delays = tuple(delays) or (0,) * self.columns
        self.beat_bits = beat_bits
        depth_bits = ceil_log2(depth)
        super().__init__({
            "write": In(BufferWrite(depth_bits, self.columns, beat_bits)),
            "read": In(BufferRead(depth_bits, word_bits)),
        })

    @classmethod
    def of(cls, config: MachineConfig, buffer: str, delays: Sequence[int] = ()) -> ParameterMemory:
        """The memory that a configuration asks for; ``buffer`` as in ``isa.instructions.Buffer``."""
        return cls(config.buffer_depth(buffer), 8 * config.buffer_word_bytes(buffer), config.axi_data_bits, delays)

    def elaborate(self, platform: Any) -> Module:
        m = Module()
        words = []
        asked = [Cat(self.read.en, self.read.addr)]
        for n in range(max(self.delays)):
            asked.append(Signal.like(asked[0], name=f"asked_{n}"))
            m.d.sync += asked[-1].eq(asked[-2])
        for column in range(self.columns):
            width = min(self.beat_bits, self.word_bits - column * self.beat_bits)
            memory = Memory(shape=width, depth=self.depth, init=[])
            m.submodules[f"column{column}"] = memory
            write = memory.write_port()
            read = memory.read_port()
            m.d.comb += [
                write.en.eq(self.write.en & (self.write.column == column)),
                write.addr.eq(self.write.addr),
                write.data.eq(self.write.data),
                Cat(read.en, read.addr).eq(asked[self.delays[column]]),
            ]
            words.append(read.data)
        m.d.comb += self.read.data.eq(Cat(words))
        return m
