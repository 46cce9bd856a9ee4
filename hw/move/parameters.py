"""LOADP, which writes beats into the columns of parameter words."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from amaranth import Cat, Module, Mux, Signal, Value, unsigned
from amaranth.hdl import ValueLike
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out
from amaranth.utils import ceil_log2, exact_log2

from hw.arithmetic.choice import pick
from hw.axi.read_engine import read_beat_layout
from hw.copies import PINS, Spread
from hw.interfaces import TICKET_BITS, BufferWrite, TableWrite
from hw.move.chunks import beat_tag
from isa.capabilities import built_buffers
from isa.config import MachineConfig
from isa.instructions import Buffer

MEMORIES: dict[Buffer, str] = {
    Buffer.WEIGHT: "weights",
    Buffer.PARAM: "params",
    Buffer.TAPS: "taps",
    Buffer.POOL_PARAM: "pool_params",
    Buffer.EXP: "exponentials",
    Buffer.NORM: "norms",
}
"""The buffers that are memories of words, and the names of their write ports."""


def memories(config: MachineConfig) -> dict[Buffer, str]:
    """The buffers of this machine, and the names of their write ports."""
    return {buffer: name for buffer, name in MEMORIES.items() if buffer in built_buffers(config)}


FILL_LAYOUT = data.StructLayout({
    "ticket": unsigned(TICKET_BITS),
    "buffer": unsigned(3),
    "dst": unsigned(16),
    "count": unsigned(16),
    "int4": unsigned(1),
})


def checked_layout() -> data.StructLayout:
    """A fill. ``outside``: its words do not all lie within the buffer."""
    return data.StructLayout({"fill": FILL_LAYOUT, "outside": unsigned(1)})


def is_outside(m: Module, fill: Any, config: MachineConfig) -> Value:
    """High if the words of a fill do not all lie within the buffer."""
    depth = Signal(17)
    choose(m, config, fill.buffer, depth, lambda kind: config.buffer_depth(kind.name))
    return fill.dst + fill.count > depth


def columns(config: MachineConfig, buffer: Buffer) -> int:
    """The beats of a word."""
    return config.buffer_dram_bytes(buffer.name) // config.axi_bytes


def write_ports(config: MachineConfig) -> dict[str, Any]:
    """The write sides of the parameter memories, as members of the component that writes them."""
    return {name: Out(write_port(config, buffer)) for buffer, name in memories(config).items()}


def write_port(config: MachineConfig, buffer: Buffer) -> BufferWrite:
    depth_bits = ceil_log2(config.buffer_depth(buffer.name))
    return BufferWrite(depth_bits, columns(config, buffer), config.axi_data_bits, pairs=buffer is Buffer.WEIGHT)


def widened(beat: Value, first: int) -> Value:
    """The numbers of four bits at bit ``first`` of each byte, as signed bytes."""
    numbers = (beat[n + first : n + first + 4] for n in range(0, len(beat), 8))
    return Cat(Cat(number, number[3].replicate(4)) for number in numbers)


def choose(
    m: Module, config: MachineConfig, buffer: Value, target: Value, value: Callable[[Buffer], ValueLike]
) -> None:
    """Drives ``target`` with the ``value`` that belongs to ``buffer``."""
    *others, rest = built_buffers(config)
    with m.Switch(buffer):
        for kind in others:
            with m.Case(kind):
                m.d.comb += target.eq(value(kind))
        with m.Default():
            m.d.comb += target.eq(value(rest))


class ParameterWriter(wiring.Component):
    """Writes one beat per cycle into a word memory, or one byte per cycle into the tables. The latency is one cycle. A beat for
    the tables stalls while its bytes are written.

    A beat takes every column in turn, or with ``int4`` two columns at a time; the memory drops bytes beyond a word's width. A
    cycle passes between the last beat of an instruction and the fill of the next one, so that no state follows from both. What
    a beat ends, and whether it is taken, come from registers. ``done`` strobes with the last write. ``outside`` is high, and
    nothing is written, when the words do not all lie within the buffer. ``error`` strobes a cycle after a beat that DRAM
    reported as bad. Both belong to the instruction ``ticket``. Beats of LOAD pass by.
    """

    def __init__(self, config: MachineConfig) -> None:
        self.config = config
        super().__init__({
            "fill": In(stream.Signature(checked_layout())),
            "beats": In(stream.Signature(read_beat_layout(config, beat_tag(config)))),
            **write_ports(config),
            "table_write": Out(TableWrite(config)),
            "active": Out(1),
            "done": Out(1),
            "ticket": Out(TICKET_BITS),
            "outside": Out(1),
            "error": Out(1),
        })

    def elaborate(self, platform: Any) -> Module:
        m = Module()
        lane_bits = exact_log2(self.config.axi_bytes)
        most = max(columns(self.config, buffer) for buffer in built_buffers(self.config))
        occupied = Signal()
        buffer = Signal(Buffer)
        word = Signal(16)
        words_left = Signal(16)
        column = Signal(range(max(2, most)))
        lane = Signal(lane_bits)
        single, before_final = (Signal(name=name) for name in ("single", "before_final"))
        choose(m, self.config, buffer, single, lambda kind: columns(self.config, kind) == 1)
        choose(m, self.config, buffer, before_final, lambda kind: column + 2 == columns(self.config, kind))
        int4 = Signal()
        of_weights = columns(self.config, Buffer.WEIGHT)
        with m.If(int4):
            m.d.comb += [single.eq(of_weights <= 2), before_final.eq(column + 2 == (of_weights - 1) // 2 * 2)]
        new = self.fill.payload.fill
        narrow = Spread(m, int4, Mux(occupied, int4, new.int4), "sync")
        outside = self.fill.payload.outside
        new_single = Signal()
        choose(m, self.config, new.buffer, new_single, lambda kind: columns(self.config, kind) == 1)
        with m.If(new.int4):
            m.d.comb += new_single.eq(of_weights <= 2)

        usable = Signal()
        in_table = Signal()
        ready = Signal()
        end_column = Signal()
        """``column`` is the last one of a word."""
        end_words = Signal()
        """``words_left`` is 1."""
        write = Signal()
        take = Signal()
        mine = self.beats.valid & self.beats.payload.tag.parameter
        m.d.comb += [
            write.eq(usable & mine),
            take.eq(ready & mine),
            self.active.eq(write),
            self.beats.ready.eq(ready),
            self.fill.ready.eq(~occupied),
        ]
        m.d.sync += [self.done.eq(take & end_column & end_words), self.error.eq(take & self.beats.payload.error)]
        with m.If(~occupied):
            m.d.sync += [
                occupied.eq(self.fill.valid),
                self.ticket.eq(new.ticket),
                self.outside.eq(self.fill.valid & outside),
                usable.eq(self.fill.valid & ~outside),
                ready.eq(self.fill.valid & ~outside & (new.buffer != Buffer.TABLE)),
                in_table.eq(new.buffer == Buffer.TABLE),
                buffer.eq(new.buffer),
                word.eq(new.dst),
                words_left.eq(new.count),
                column.eq(0),
                lane.eq(0),
                end_words.eq(new.count == 1),
                end_column.eq(new_single),
            ]
        with m.Else():
            with m.If(write & in_table):
                m.d.sync += [lane.eq(lane + 1), ready.eq(lane == self.config.axi_bytes - 2)]
            with m.If(take):
                m.d.sync += [
                    column.eq(Mux(end_column, 0, column + 1 + int4)),
                    end_column.eq(Mux(end_column, single, before_final)),
                ]
                with m.If(end_column):
                    m.d.sync += [word.eq(word + 1), words_left.eq(words_left - 1), end_words.eq(words_left == 2)]
                    with m.If(end_words):
                        m.d.sync += [occupied.eq(0), usable.eq(0), ready.eq(0)]

        addr = Signal(16)
        beat_column = Signal.like(column)
        beat_columns = Spread(m, beat_column, column, "sync")
        even, odd = (Signal(self.config.axi_data_bits, name=name) for name in ("even", "odd"))
        both = Signal()
        data = self.beats.payload.data
        m.d.sync += [
            addr.eq(word), both.eq(int4),
            even.eq(Mux(narrow.of(len(data)), widened(data, 0), data)),
            odd.eq(Mux(narrow.of(len(data)), widened(data, 4), data)),
        ]  # fmt: skip
        for kind, name in memories(self.config).items():
            port = getattr(self, name)
            m.d.sync += port.en.eq(write & (buffer == kind))
            m.d.comb += [port.addr.eq(addr), port.column.eq(beat_columns.of(PINS)), port.data.eq(even)]
        m.d.comb += [self.weights.both.eq(both), self.weights.odd.eq(odd)]
        table = self.table_write
        m.d.sync += [
            table.en.eq(write & in_table),
            table.table.eq(word),
            table.index.eq((column << lane_bits) + lane),
            table.data.eq(pick([data[n : n + 8] for n in range(0, len(data), 8)], lane)),
        ]
        return m
