"""A short queue whose ``ready`` does not depend on the reader: it cuts the back-pressure path between two parts."""

from __future__ import annotations

from amaranth import Module, Mux, Shape, Signal, Value
from amaranth.hdl import ShapeLike
from amaranth.lib import memory, stream, wiring
from amaranth.lib.wiring import In, Out
from amaranth.utils import ceil_log2

from hw.arithmetic.small import stepped
from hw.buffers.fifo import RamFifo
from isa.config import MachineConfig

MANY = 16
"""Entries too many for a count of theirs to be one LUT deep."""


class Queue(wiring.Component):
    """First in, first out, ``depth`` entries, latency 1, one entry per cycle.

    ``i.ready`` and ``o.valid`` come from registers alone. A depth of 2 suffices to carry one entry per
    cycle; more entries absorb stalls. The storage is read asynchronously (LUT RAM), so keep it short.
    A few entries are counted; of ``MANY``, whose number is rounded up to a power of two, each pointer has a bit more than the
    storage, and nothing is counted.
    """

    def __init__(self, shape: ShapeLike, depth: int = 2) -> None:
        if depth < 2:
            raise ValueError(f"queue depth {depth}: expected at least 2, or the queue halves the rate")
        self.depth = depth if depth < MANY else 1 << ceil_log2(depth)
        self.shape = shape
        super().__init__({
            "i": In(stream.Signature(shape)),
            "o": Out(stream.Signature(shape)),
        })

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.submodules.storage = storage = memory.Memory(shape=self.shape, depth=self.depth, init=[])
        write = storage.write_port()
        read = storage.read_port(domain="comb")
        push = Signal()
        pop = Signal()
        m.d.comb += [
            push.eq(self.i.valid & self.i.ready),
            pop.eq(self.o.valid & self.o.ready),
            write.en.eq(push),
            write.data.eq(self.i.payload),
            self.o.payload.eq(read.data),
        ]
        if self.depth >= MANY:
            written, taken = (Signal(range(2 * self.depth), name=name) for name in ("written", "taken"))
            with m.If(push):
                m.d.sync += written.eq(written + 1)
            with m.If(pop):
                m.d.sync += taken.eq(taken + 1)
            m.d.comb += [
                write.addr.eq(written),
                read.addr.eq(taken),
                self.i.ready.eq((written ^ taken) != self.depth),
                self.o.valid.eq(written != taken),
            ]
            return m
        level = Signal(range(self.depth + 1))
        m.d.comb += [self.i.ready.eq(level != self.depth), self.o.valid.eq(level != 0)]
        with m.If(push):
            m.d.sync += write.addr.eq(_next(write.addr, self.depth))
        with m.If(pop):
            m.d.sync += read.addr.eq(_next(read.addr, self.depth))
        m.d.sync += level.eq(stepped(level, push, pop, self.depth))
        return m


class RamQueue(wiring.Component):
    """A ``Queue`` in memory of the style ``queue_ram``, for what is wide and waits long: latency 2."""

    def __init__(self, config: MachineConfig, shape: ShapeLike, depth: int) -> None:
        self.config = config
        self.depth = depth
        self.shape = shape
        super().__init__({
            "i": In(stream.Signature(shape)),
            "o": Out(stream.Signature(shape)),
        })

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.submodules.fifo = fifo = RamFifo(self.config, width=Shape.cast(self.shape).width, depth=self.depth)
        m.d.comb += [
            fifo.w_en.eq(self.i.valid),
            fifo.w_data.eq(self.i.payload),
            self.i.ready.eq(fifo.w_rdy),
            self.o.valid.eq(fifo.r_rdy),
            Value.cast(self.o.payload).eq(fifo.r_data),
            fifo.r_en.eq(self.o.ready),
        ]
        return m


class HeadQueue(wiring.Component):
    """A ``Queue`` whose head is a register: for a reader that has no time to look it up. Otherwise the same.

    ``depth`` entries with the head; an entry that finds the others gone becomes the head at once.
    """

    def __init__(self, shape: ShapeLike, depth: int = 2) -> None:
        if depth < 2:
            raise ValueError(f"queue depth {depth}: expected at least 2, or the queue halves the rate")
        self.depth = depth
        self.shape = shape
        super().__init__({
            "i": In(stream.Signature(shape)),
            "o": Out(stream.Signature(shape)),
        })

    def elaborate(self, platform: object) -> Module:
        m = Module()
        behind = self.depth - 1
        level = Signal(range(behind + 1))
        """Entries behind the head."""
        push = Signal()
        free = Signal()
        pull = Signal()
        m.d.comb += [
            self.i.ready.eq(level != behind),
            push.eq(self.i.valid & self.i.ready),
            free.eq(~self.o.valid | self.o.ready),
            pull.eq(free & (level != 0)),
        ]
        # What is offered is written behind the head even where it becomes the head, and then is no entry: for ``free`` is late.
        store = push & (~free | (level != 0))
        if behind == 1:
            waiting = Signal(self.shape, reset_less=True)
            with m.If(self.i.ready):
                m.d.sync += waiting.eq(self.i.payload)
            entry: Value = Value.cast(waiting)
        else:
            m.submodules.storage = storage = memory.Memory(shape=self.shape, depth=behind, init=[])
            write, read = storage.write_port(), storage.read_port(domain="comb")
            m.d.comb += [write.en.eq(push), write.data.eq(self.i.payload)]
            with m.If(store):
                m.d.sync += write.addr.eq(_next(write.addr, behind))
            with m.If(pull):
                m.d.sync += read.addr.eq(_next(read.addr, behind))
            entry = Value.cast(read.data)
        with m.If(free):
            m.d.sync += [
                self.o.valid.eq((level != 0) | push),
                Value.cast(self.o.payload).eq(Mux(level != 0, entry, Value.cast(self.i.payload))),
            ]
        m.d.sync += level.eq(stepped(level, store, pull, behind))
        return m


def _next(pointer: Signal, depth: int) -> Value:
    """The pointer after this one; it wraps by itself when the depth is a power of two."""
    if depth & (depth - 1) == 0:
        return pointer + 1
    return Mux(pointer == depth - 1, 0, pointer + 1)
