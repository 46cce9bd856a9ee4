"""A short queue whose ``ready`` does not depend on the reader. So it cuts the back-pressure path between two parts."""

from __future__ import annotations

from collections.abc import Mapping

from amaranth import Module, Mux, Shape, Signal, Value
from amaranth.hdl import ShapeLike
from amaranth.lib import memory, stream, wiring
from amaranth.lib.wiring import In, Member, Out
from amaranth.utils import ceil_log2

from hw.arithmetic.small import stepped
from hw.buffers.fifo import RamFifo, following_entry
from hw.copies import Spread
from isa.config import MachineConfig

MANY = 16
"""The entries from which on a count of them is not one LUT deep."""


class Queue(wiring.Component):
    """First in, first out, with ``depth`` entries, a latency of 1 and one entry per cycle. It stalls ``i`` while it is full.

    ``i.ready`` and ``o.valid`` come from registers alone. A depth of 2 suffices to carry one entry per cycle; more entries
    absorb stalls. The storage is read asynchronously (LUT RAM), so keep it short. A few entries are counted. A depth of
    ``MANY`` or more is rounded up to a power of two; then each pointer has a bit more than the storage needs, and nothing is
    counted.
    """

    def __init__(self, shape: ShapeLike, depth: int = 2, more: Mapping[str, Member] | None = None) -> None:
        """``more`` has further members, for a queue that is stored in another way."""
        if depth < 2:
            raise ValueError(f"queue depth {depth}: expected at least 2, or the queue halves the rate")
        self.depth = depth if depth < MANY else 1 << ceil_log2(depth)
        self.shape = shape
        super().__init__({
            "i": In(stream.Signature(shape)),
            "o": Out(stream.Signature(shape)),
            **(more or {}),
        })

    def elaborate(self, platform: object) -> Module:
        m = Module()
        push = Signal()
        pop = Signal()
        m.d.comb += [push.eq(self.i.valid & self.i.ready), pop.eq(self.o.valid & self.o.ready)]
        if self.depth >= MANY:
            written, taken = (Signal(range(2 * self.depth), name=name) for name in ("written", "taken"))
            with m.If(push):
                m.d.sync += written.eq(written + 1)
            self._store(m, push, written, Spread(m, taken, Mux(pop, taken + 1, taken), "sync"))
            room = Signal(init=1)
            nearly = Signal()
            """The queue is full after one more entry."""
            m.d.comb += [
                nearly.eq((written + 1)[: len(written)] ^ taken == self.depth),
                self.i.ready.eq(room),
                self.o.valid.eq(written != taken),
            ]
            # This has a module of its own, as below.
            m.submodules.count = late = Module()
            late.d.sync += room.eq((self.o.ready & self.o.valid) | (room & ~(push & nearly)))
            return m
        level = Signal(range(self.depth + 1))
        room = Signal(init=1)
        some = Signal()
        m.d.comb += [self.i.ready.eq(room), self.o.valid.eq(some)]
        # ``comes`` and ``goes`` are known late, so this has a module of its own, which computes them once more.
        m.submodules.count = late = Module()
        comes, goes = self.i.valid & room, self.o.ready & some
        with late.If(comes & ~goes):
            late.d.sync += [room.eq(level != self.depth - 1), some.eq(1)]
        with late.Elif(goes & ~comes):
            late.d.sync += [room.eq(1), some.eq(level != 1)]
        late.d.sync += level.eq(stepped(level, comes, goes, self.depth))
        last, first = (Signal(range(self.depth), name=name) for name in ("last_entry", "first_entry"))
        with m.If(push):
            m.d.sync += last.eq(following_entry(last, self.depth))
        self._store(m, push, last, Spread(m, first, Mux(pop, following_entry(first, self.depth), first), "sync"))
        return m

    def _store(self, m: Module, push: Value, last: Signal, first: Spread) -> None:
        """Builds the storage. An entry is written at the place ``last``, and the one at ``first`` is shown."""
        self._memory(m, "storage", push, last, first, Value.cast(self.i.payload), Value.cast(self.o.payload))

    def _memory(self, m: Module, name: str, en: Value, last: Signal, first: Spread, i: Value, o: Value) -> None:
        m.submodules[name] = storage = memory.Memory(shape=len(i), depth=self.depth, init=[])
        write = storage.write_port()
        read = storage.read_port(domain="comb")
        m.d.comb += [write.en.eq(en), write.addr.eq(last), write.data.eq(i), read.addr.eq(first.of(len(i))), o.eq(read.data)]


class RamQueue(wiring.Component):
    """A ``Queue`` in memory of the style ``queue_ram``, for entries that are wide and wait long. The latency is 2."""

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
