"""Parameter memories: weights, requantisation records, depthwise taps."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import reduce
from operator import or_
from typing import Any

from amaranth import Cat, Const, Module, Mux, Signal, Value
from amaranth.lib import wiring
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In
from amaranth.utils import ceil_log2

from hw.buffers.lane_columns import LaneColumns
from hw.interfaces import BufferRead, BufferWrite, LaneWrite
from isa.config import MachineConfig
from isa.ram import ram_attributes


class ParameterMemory(wiring.Component):
    """``depth`` words that are read whole. They are written one AXI beat at a time, or with ``pairs`` also two columns at a
    time.

    A word is cut into columns of one beat each. Every column is a memory of its own (block RAM), so that a write enables one
    column and needs no byte enables. The last column is as narrow as the rest of the word; the surplus bytes of its beat are
    dropped.

    With ``parts`` above 1 a read takes only one part of a word; ``read.addr`` has the part's number in its lowest bits. Parts
    of whole beats lie in rows of their own, so that the memory is as narrow as a part. Other parts are chosen from the whole
    word.

    With ``lanes``, the input and output lanes of a weight word, there is a second write port, by lanes (``LaneWrite``). No
    cycle uses both. Then columns have byte enables, and registers in front of them (``LaneColumns``), so a write is seen a
    cycle later.

    ============  ======================================================================
    read          data one cycle after ``en``, held until the next ``en``; a column with a delay so many cycles later
    write         seen by a read in the next cycle; what a read of that word in the same cycle returns is not defined
    stalls        never
    ============  ======================================================================
    """

    def __init__(
        self, depth: int, word_bits: int, beat_bits: int, parts: int = 1, delays: Sequence[int] = (),
        attributes: Mapping[str, str] | None = None, pairs: bool = False, lanes: tuple[int, int] | None = None,
    ) -> None:  # fmt: skip
        """``delays`` has the cycles by which each column is read later, none unless given. ``attributes`` are those of the
        memories."""
        self.depth = depth
        self.word_bits = word_bits
        self.columns = -(-word_bits // beat_bits)
        self.delays = tuple(delays) or (0,) * self.columns
        self.beat_bits = beat_bits
        self.attributes = dict(attributes or {})
        self.part_bits = ceil_log2(parts)
        self.part_width = word_bits // parts
        self.rows = parts if self.part_width % beat_bits == 0 else 1
        """The rows of a word."""
        self.pairs = pairs
        self.lanes_of_word = lanes
        depth_bits = ceil_log2(depth)
        super().__init__({
            "write": In(BufferWrite(depth_bits, self.columns, beat_bits, pairs)),
            "read": In(BufferRead(self.part_bits + depth_bits, self.part_width)),
            **({"lanes": In(LaneWrite(depth_bits, *lanes))} if lanes else {}),
        })

    @classmethod
    def of(cls, config: MachineConfig, buffer: str, delays: Sequence[int] = ()) -> ParameterMemory:
        """The memory that a configuration asks for. ``buffer`` is a name of ``isa.instructions.Buffer``."""
        parts = {"PARAM": config.conv_parts, "POOL_PARAM": config.pool_parts, "NORM": config.row_parts}.get(buffer, 1)
        word_bits = 8 * config.buffer_word_bytes(buffer)
        style = ram_attributes(getattr(config, f"{buffer.lower()}_ram", "auto"))
        weights = buffer == "WEIGHT"
        lanes = (config.ic_p, config.oc_p) if weights and config.build_products else None
        return cls(config.buffer_depth(buffer), word_bits, config.axi_data_bits, parts, delays, style, weights, lanes)

    def elaborate(self, platform: Any) -> Module:
        m = Module()
        row_bits = ceil_log2(self.rows)
        columns = self.columns // self.rows
        part, word = self.read.addr[: self.part_bits], self.read.addr[self.part_bits :]
        read_row = self.read.addr if self.rows > 1 else word
        words = []
        asked = [Cat(self.read.en, read_row)]
        for n in range(max(self.delays)):
            asked.append(Signal.like(asked[0], name=f"asked_{n}"))
            m.d.sync += asked[-1].eq(asked[-2])
        by_lanes = self._by_lanes(m)
        for column in range(columns):
            width = min(self.beat_bits, self.word_bits - column * self.beat_bits)
            memory = Memory(shape=width, depth=self.depth << row_bits, init=[], attrs=self.attributes)
            m.submodules[f"column{column}"] = memory
            write = memory.write_port(granularity=8 if by_lanes else None)
            read = memory.read_port()
            first = column * self.beat_bits // 8
            if not by_lanes:
                numbers = [row * columns + column for row in range(self.rows)]
                takes = [(self.write.column == number) | self._second(number) for number in numbers]
                row = reduce(or_, (Mux(own, row, 0) for row, own in enumerate(takes)))
                m.d.comb += [
                    write.en.eq(self.write.en & Cat(takes).any()),
                    write.addr.eq(Cat(row[:row_bits], self.write.addr)),
                ]
            if by_lanes:
                m.d.comb += [write.en.eq(by_lanes.en[first : first + width // 8]), write.addr.eq(by_lanes.addr)]
                data: Value = by_lanes.data.as_value()[8 * first : 8 * first + width]
            else:
                data = self.write.odd if self.pairs and column % 2 else self.write.data
            m.d.comb += [
                write.data.eq(data),
                Cat(read.en, read.addr).eq(asked[self.delays[column]]),
            ]
            words.append(read.data)
        whole: Value = Cat(words)
        if self.rows == 1 and self.part_bits:
            chosen = Signal.like(part)
            with m.If(self.read.en):
                m.d.sync += chosen.eq(part)
            whole = whole.word_select(chosen, self.part_width)
        m.d.comb += self.read.data.eq(whole)
        return m

    def _by_lanes(self, m: Module) -> LaneColumns | None:
        """The part that writes the columns, if lanes are written, too."""
        if not self.lanes_of_word:
            return None
        m.submodules.by_lanes = found = LaneColumns(len(self.write.addr), self.columns, self.beat_bits, self.lanes_of_word)
        wiring.connect(m, wiring.flipped(self.write), found.write)
        wiring.connect(m, wiring.flipped(self.lanes), found.lanes)
        return found

    def _second(self, column: int) -> Value:
        """High if a write of two columns begins at the column before this one."""
        return self.write.both & (self.write.column == column - 1) if self.pairs and column % 2 else Const(0)
