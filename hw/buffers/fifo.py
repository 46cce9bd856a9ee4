"""A first-in first-out queue that says from a register whether it has room, and one that lies in the kind of memory that the
configuration asks for."""

from __future__ import annotations

from typing import Any

from amaranth import Module, Mux, Signal, Value
from amaranth.lib.fifo import SyncFIFOBuffered
from amaranth.lib.memory import Memory

from hw.arithmetic.small import stepped
from isa.config import MachineConfig
from isa.ram import ram_attributes


class RoomFifo(SyncFIFOBuffered):
    """A ``SyncFIFOBuffered``, the same cycle by cycle, but ``w_rdy`` comes from a register, because the writer depends on it.

    ``depth`` is two at least. The latency is two cycles, with an item per cycle. A write waits while the queue is full.
    """

    def __init__(self, *, width: int, depth: int) -> None:
        if depth < 2:
            raise ValueError(f"queue depth {depth}: expected at least 2, the last of which is a register")
        super().__init__(width=width, depth=depth)

    def elaborate(self, platform: Any) -> Module:
        m = Module()
        most = self.depth - 1
        inner_level = Signal(range(most + 1))
        """The items in memory. Another one is on ``r_data``."""
        produce, consume = (Signal(range(most), name=name) for name in ("produce", "consume"))
        m.submodules.storage = storage = Memory(shape=self.width, depth=most, init=[])
        write = storage.write_port()
        read = storage.read_port()
        push, pull = (Signal(name=name) for name in ("push", "pull"))
        room = Signal(init=1)
        some = Signal()
        m.d.comb += [
            self.w_rdy.eq(room),
            push.eq(self.w_rdy & self.w_en),
            pull.eq(some & (~self.r_rdy | self.r_en)),
            write.addr.eq(produce),
            write.data.eq(self.w_data),
            write.en.eq(push),
            read.addr.eq(consume),
            read.en.eq(pull),
            self.r_data.eq(read.data),
            self.level.eq(inner_level + self.r_rdy),
            self.w_level.eq(self.level),
            self.r_level.eq(self.level),
        ]
        with m.If(push):
            m.d.sync += produce.eq(following_entry(produce, most))
        with m.If(pull):
            m.d.sync += [consume.eq(following_entry(consume, most)), self.r_rdy.eq(1)]
        with m.Elif(self.r_en):
            m.d.sync += self.r_rdy.eq(0)
        m.d.sync += inner_level.eq(stepped(inner_level, push, pull, most))
        with m.If(push & ~pull):
            m.d.sync += [room.eq(inner_level != most - 1), some.eq(1)]
        with m.Elif(pull & ~push):
            m.d.sync += [room.eq(1), some.eq(inner_level != 1)]
        return m


class RamFifo(RoomFifo):
    """A ``RoomFifo`` in memory of the style ``queue_ram``."""

    def __init__(self, config: MachineConfig, *, width: int, depth: int) -> None:
        self.config = config
        super().__init__(width=width, depth=depth)

    def elaborate(self, platform: Any) -> Module:
        m = super().elaborate(platform)
        m.submodules["storage"].attrs.update(ram_attributes(self.config.queue_ram))
        return m


def following_entry(pointer: Signal, depth: int) -> Value:
    """The pointer after this one. It wraps by itself when the depth is a power of two."""
    if depth & (depth - 1) == 0:
        return pointer + 1
    return Mux(pointer == depth - 1, 0, pointer + 1)
