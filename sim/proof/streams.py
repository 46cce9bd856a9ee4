"""Proofs that slices and FIFOs hand on every item once, in order, unchanged."""

from __future__ import annotations

from typing import Any

from amaranth import Module, Mux, Signal, unsigned
from amaranth.asserts import AnySeq
from amaranth.lib import data, wiring
from amaranth.lib.fifo import SyncFIFO, SyncFIFOBuffered
from amaranth.lib.wiring import In, Out

from hw.axi.slice import RegisterSlice
from hw.buffers.fifo import RoomFifo
from isa.config import MachineConfig
from sim.proof.engine import Proof
from sim.proof.fault import Fault
from sim.proof.harness import Checks, Inside

ITEM = data.StructLayout({"value": unsigned(8)})
DEPTH = 5


class Followed:
    """One item, chosen freely, on its way through a queue. ``ahead`` items leave before it; ``value`` is what it must be."""

    def __init__(self, checks: Checks, enters: Any, entering: Any, leaves: Any, level: Any, most: int) -> None:
        m = checks.m
        self.on = Signal()
        self.ahead = Signal(range(most + 1))
        self.value = Signal(len(entering))
        chosen = Signal()
        m.d.comb += chosen.eq(AnySeq(1) & enters & ~self.on)
        self.due = Signal()
        """Whether it is the next to leave."""
        m.d.comb += self.due.eq(self.on & (self.ahead == 0))
        with m.If(chosen):
            m.d.sync += [self.on.eq(1), self.value.eq(entering), self.ahead.eq(level - leaves)]
        with m.Elif(self.on & leaves):
            m.d.sync += [self.on.eq(self.ahead != 0), self.ahead.eq(self.ahead - 1)]


def slice_keeps_order(checks: Checks, part: Any, inside: Inside) -> None:
    spare_valid, spare = inside.signal("spare_valid"), inside.signal("spare")
    i, o = part.i, part.o
    enters, leaves = i.valid & i.ready, o.valid & o.ready
    item = Followed(checks, enters, i.payload.as_value(), leaves, o.valid + spare_valid, 2)
    checks.if_then(spare_valid, o.valid)
    checks.if_then(item.on, item.ahead < o.valid + spare_valid)
    checks.if_then(item.due, o.payload.as_value() == item.value)
    checks.if_then(item.on & (item.ahead == 1), spare == item.value)
    checks.steady(o.valid, o.ready, o.payload.as_value())


def slice_never_blocks(checks: Checks, part: Any, inside: Inside) -> None:
    """With a reader that is always ready, an item is taken in every cycle but the first after a stall, and leaves one cycle
    after it was taken."""
    i, o = part.i, part.o
    ready_before = checks.past(o.ready)
    checks.if_then(ready_before, i.ready)
    checks.if_then(checks.past(i.valid & i.ready), o.valid)


class Queue(wiring.Component):
    """A FIFO of Amaranth's library in the sizes that are proved."""

    def __init__(self, fifo: type, depth: int) -> None:
        self.fifo = fifo(width=8, depth=depth)
        super().__init__({"w_en": In(1), "w_data": In(8), "r_en": In(1), "w_rdy": Out(1), "r_rdy": Out(1), "r_data": Out(8)})

    def elaborate(self, platform: Any) -> Module:
        m = Module()
        m.submodules.fifo = fifo = self.fifo
        for name in ("w_en", "w_data", "r_en"):
            m.d.comb += getattr(fifo, name).eq(getattr(self, name))
        for name in ("w_rdy", "r_rdy", "r_data"):
            m.d.comb += getattr(self, name).eq(getattr(fifo, name))
        return m


def fifo_keeps_order(checks: Checks, part: Any, inside: Inside) -> None:
    fifo, enters, leaves = inside.part("fifo"), part.w_en & part.w_rdy, part.r_en & part.r_rdy
    queue_holds(checks, fifo, DEPTH, enters, part.w_data, leaves, registered=False)
    checks.holds(part.w_rdy == (fifo.signal("level") != DEPTH))


def buffered_fifo_keeps_order(checks: Checks, part: Any, inside: Inside) -> None:
    fifo, enters, leaves = inside.part("fifo"), part.w_en & part.w_rdy, part.r_en & part.r_rdy
    queue_holds(checks, fifo, DEPTH - 1, enters, part.w_data, leaves)
    checks.holds(part.w_rdy == (fifo.signal("inner_level") != DEPTH - 1))


def queue_holds(
    checks: Checks, fifo: Inside, depth: int, enters: Any, entering: Any, leaves: Any, *, registered: bool = True
) -> Followed:
    """Bounds and order of a FIFO with ``depth`` words of memory and perhaps a register behind them. Returns the item that is
    followed."""
    level, produce, consume = (fifo.signal(name) for name in ("inner_level" if registered else "level", "produce", "consume"))
    word = fifo.signal("r_rdy")
    held = level + word if registered else level
    item = Followed(checks, enters, entering, leaves, held, depth + registered)
    in_memory = item.ahead - (word if registered else 0)
    _memory_holds(checks, fifo, depth, (produce, consume), level, item, in_memory)
    checks.if_then(item.on, item.ahead < held)
    checks.if_then(item.due & word, fifo.signal("r_data") == item.value)
    return item


def short_queue_holds(checks: Checks, queue: Inside, depth: int, enters: Any, entering: Any, leaves: Any) -> Followed:
    """Bounds and order of a ``Queue`` of a few words, whose first one is read where it lies. Returns the item that is
    followed."""
    level, room, some = queue.part("count").signal("level"), queue.signal("i__ready"), queue.signal("o__valid")
    item = Followed(checks, enters, entering, leaves, level, depth)
    _memory_holds(checks, queue, depth, (queue.signal("write__addr"), queue.signal("read__addr")), level, item, item.ahead)
    checks.if_then(item.on, item.ahead < level)
    checks.holds((room == (level != depth)) & (some == (level != 0)))
    return item


def _memory_holds(
    checks: Checks, fifo: Inside, depth: int, pointers: tuple[Any, Any], level: Any, item: Followed, in_memory: Any
) -> None:
    """The bounds of a ring of ``depth`` words with ``level`` in use, and the place of the item that is followed in it."""
    produce, consume = pointers
    stored = fifo.stored("storage", _wrapped(consume + in_memory, depth))
    checks.holds((produce < depth) & (consume < depth) & (level <= depth))
    checks.holds(produce == _wrapped(consume + level, depth))
    checks.if_then(item.on & (in_memory >= 0), stored == item.value)


def _wrapped(index: Any, depth: int) -> Any:
    return Mux(index >= depth, index - depth, index)


def fifo_answers(checks: Checks, part: Any, inside: Inside) -> None:
    """A written item can be read two cycles later at the latest; a read makes room for the next cycle."""
    wrote, read = part.w_en & part.w_rdy, part.r_en & part.r_rdy
    quiet = ~checks.past(part.r_en) & ~checks.past(checks.past(part.r_en))
    checks.holds(inside.part("fifo").signal("inner_level") < part.fifo.depth)
    checks.if_then(checks.past(checks.past(wrote)) & quiet, part.r_rdy)
    checks.if_then(checks.past(read), part.w_rdy)


def room_fifo_keeps_order(checks: Checks, part: Any, inside: Inside) -> None:
    room_is_known(checks, inside.part("fifo"), DEPTH - 1)
    buffered_fifo_keeps_order(checks, part, inside)


def room_fifo_answers(checks: Checks, part: Any, inside: Inside) -> None:
    fifo = inside.part("fifo")
    room_is_known(checks, fifo, DEPTH - 1)
    fifo_answers(checks, part, inside)


def room_is_known(checks: Checks, fifo: Inside, most: int) -> None:
    """The registers of a ``RoomFifo`` say whether its memory of ``most`` words is full, and whether it is empty."""
    checks.holds(fifo.signal("w_rdy") == (fifo.signal("inner_level") != most))
    checks.holds(fifo.signal("some") == (fifo.signal("inner_level") != 0))
    checks.holds(fifo.signal("inner_level") <= most)


def _queue(fifo: type) -> Any:
    return lambda config: Queue(fifo, DEPTH)


def _slice(config: MachineConfig) -> Any:
    return RegisterSlice(ITEM)


SLICE = "hw.axi.slice"
FIFO = "amaranth.lib.fifo"
ROOM = "hw.buffers.fifo"
PROOFS = (
    Proof(
        "slice-order", SLICE, "every item once, in order, unchanged; VALID and payload steady until READY", _slice,
        slice_keeps_order,
        (
            Fault(SLICE, "self.o.payload.eq(self.next)", "self.o.payload.eq(self.i.payload)"),
            Fault(SLICE, "with m.If(~self.o.valid | self.o.ready):", "with m.If(~self.o.valid | self.i.valid):"),
        ),
    ),
    Proof(
        "slice-flow", SLICE, "an item per cycle while the reader is ready, one cycle of latency", _slice, slice_never_blocks,
        (Fault(SLICE, "free.eq(1)", "free.eq(free)"),)
    ),
    Proof(
        "fifo-order", FIFO, "SyncFIFO: every item once, in order, unchanged; levels within bounds", _queue(SyncFIFO),
        fifo_keeps_order,
        (Fault(FIFO, "self.w_rdy.eq(self.level != self.depth),", "self.w_rdy.eq(1),"),)
    ),
    Proof(
        "buffered-fifo-order", FIFO, "SyncFIFOBuffered: every item once, in order, unchanged; levels within bounds",
        _queue(SyncFIFOBuffered), buffered_fifo_keeps_order,
        (
            Fault(FIFO, "do_inner_read  = inner_r_rdy & (~self.r_rdy | self.r_en)", "do_inner_read = inner_r_rdy"),
            Fault(FIFO, "self.w_rdy.eq(inner_level != inner_depth),", "self.w_rdy.eq(1),"),
        )
    ),
    Proof(
        "buffered-fifo-flow", FIFO, "SyncFIFOBuffered: what is written is there two cycles later; what is read makes room",
        _queue(SyncFIFOBuffered), fifo_answers,
        (Fault(FIFO, "with m.If(do_inner_read):\n            m.d.sync += self.r_rdy.eq(1)",
               "with m.If(do_inner_read & do_write):\n            m.d.sync += self.r_rdy.eq(1)"),),
        depth=4,
    ),
    Proof(
        "room-fifo-order", ROOM, "RoomFifo: every item once, in order, unchanged; levels within bounds", _queue(RoomFifo),
        room_fifo_keeps_order,
        (
            Fault(ROOM, "some & (~self.r_rdy | self.r_en)", "some"),
            Fault(ROOM, "room.eq(inner_level != most - 1)", "room.eq(1)"),
        )
    ),
    Proof(
        "room-fifo-flow", ROOM, "RoomFifo: what is written is there two cycles later; what is read makes room",
        _queue(RoomFifo), room_fifo_answers,
        (Fault(ROOM, "room.eq(1), some.eq(inner_level != 1)", "some.eq(inner_level != 1)"),),
        depth=4,
    ),
)  # fmt: skip
