"""The head of a queue in registers, in the module of its reader."""

from __future__ import annotations

from typing import Any

from amaranth import Module, Mux, Signal, Value
from amaranth.hdl import ShapeLike
from amaranth.lib import memory

from hw.arithmetic.small import stepped
from hw.buffers.fifo import following_entry


class Head:
    """Keeps the first of ``depth`` entries in a register, and those behind it in a register or LUT RAM. An entry that finds no
    other becomes the head at once.

    The latency is 1, with one entry per cycle. ``i.ready`` is a register; it is low while all places behind the head are taken.
    The entry that becomes the head with the next move is seen beforehand (``next``, ``next_valid``), so the reader can prepare
    registers from it. This is no component, because ``free`` comes late and a module of its own would cost it a LUT. The logic
    that depends on it is in ``late``, a module of its own.
    """

    def __init__(self, m: Module, late: Module, i: Any, shape: ShapeLike, depth: int) -> None:
        if depth < 2:
            raise ValueError(f"queue depth {depth}: expected at least 2, or the queue halves the rate")
        self.free = Signal(name="head_is_free")
        """The user drives this: the head is not ``valid``, or its reader is done with it."""
        self.valid = Signal(name="head_valid")
        self.payload: Any = Signal(shape, name="head", reset_less=True)
        self.next: Any = Signal(shape, name="next_head")
        self.next_valid = Signal(name="next_head_valid")
        behind = depth - 1
        level = Signal(range(behind + 1), name="behind_head")
        room = Signal(name="room_behind_head", init=1)
        some = Signal(name="some_behind_head")
        push, pull, free = Signal(name="head_push"), Signal(name="head_pull"), self.free
        m.d.comb += [i.ready.eq(room), push.eq(i.valid & room)]
        late.d.comb += [pull.eq(free & some), self.next_valid.eq(some | (i.valid & room))]
        # An item is written behind the head even where it becomes the head, because ``free`` is late. Then it is no entry.
        store = push & (~free | some)
        if behind == 1:
            waiting = Signal(shape, name="second", reset_less=True)
            with m.If(room):
                m.d.sync += Value.cast(waiting).eq(Value.cast(i.payload))
            entry: Value = Value.cast(waiting)
        else:
            m.submodules.behind = storage = memory.Memory(shape=shape, depth=behind, init=[])
            write = storage.write_port()
            read = storage.read_port(domain="comb")
            m.d.comb += [write.en.eq(push), Value.cast(write.data).eq(Value.cast(i.payload))]
            with late.If(store):
                late.d.sync += write.addr.eq(following_entry(write.addr, behind))
            with late.If(pull):
                late.d.sync += read.addr.eq(following_entry(read.addr, behind))
            entry = Value.cast(read.data)
        m.d.comb += Value.cast(self.next).eq(Mux(some, entry, Value.cast(i.payload)))
        with m.If(free):
            m.d.sync += Value.cast(self.payload).eq(Value.cast(self.next))
        next_level = Signal.like(level, name="next_behind_head")
        late.d.comb += next_level.eq(stepped(level, store, pull, behind))
        late.d.sync += [
            self.valid.eq(Mux(free, self.next_valid, self.valid)),
            level.eq(next_level), room.eq(next_level != behind), some.eq(next_level != 0),
        ]  # fmt: skip
