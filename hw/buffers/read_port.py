"""Reads the feature maps in order. Requests go in; their words come out, with what was sent along."""

from __future__ import annotations

from typing import Any

from amaranth import Cat, Const, Module, Mux, Signal, Value, unsigned
from amaranth.hdl import ShapeLike
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from hw.buffers.answers import Answers, answer_layout
from hw.buffers.head import Head
from hw.interfaces import FeatureMapRead
from isa.config import MachineConfig
from isa.latency import BANK_LATENCY

ANSWERS = BANK_LATENCY + 2
"""The answers between a grant and the cycle in which the reader takes them, when both happen in every cycle."""


def request_layout(config: MachineConfig, lanes: int, tag: ShapeLike, *, always: bool = False) -> data.StructLayout:
    """The words to read, at most one for each lane. A lane that does not ``read`` gets ``fill`` in every byte, unless all lanes
    read ``always``. ``tag`` comes out beside the words."""
    return data.StructLayout({
        **({} if always else {"read": unsigned(lanes), "fill": unsigned(8)}),
        "addr": data.ArrayLayout(config.fm_address_bits, lanes),
        "tag": tag,
    })


class ReadPort(wiring.Component):
    """Takes one request per cycle while its lanes are granted at once. The latency from request to answer is
    ``BANK_LATENCY + 2``: queue, then grant, bank and queue.

    Lanes are granted one by one; the word of a lane that was granted early waits where the answer will be. A request begins
    only when ``answers`` has room for it, so that read data, which cannot be refused, always has a place. So the reader of
    ``o`` may stall at any time. ``ahead`` requests wait, with the one that asks among them. This one asks from registers: what
    its lanes still want is known when it becomes the first. With ``always`` every lane reads in every request.

    With ``at_once`` an answer that is taken makes room for another in the same cycle. Otherwise it does so two cycles later, so
    that the reader's ``ready`` does not reach the banks; then two answers more keep the rate.
    """

    def __init__(
        self, config: MachineConfig, lanes: int, tag: ShapeLike, answers: int = ANSWERS, *, ahead: int = 2,
        always: bool = False, at_once: bool = True,
    ) -> None:  # fmt: skip
        self.config = config
        self.at_once = at_once
        self.always = always
        self.lanes = lanes
        self.tag = tag
        self.answers = answers
        self.ahead = ahead
        self.request = request_layout(config, lanes, tag, always=always)
        super().__init__({
            "i": In(stream.Signature(self.request)),
            "o": Out(stream.Signature(answer_layout(config, lanes, tag))),
            "fm_read": Out(FeatureMapRead(config, pads=not always)).array(lanes),
            "pending": Out(1),
            "wait_bank": Out(1),
        })

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.submodules.waiting = waiting = Answers(self.config, self.lanes, self.tag, self.answers)
        wiring.connect(m, waiting.o, wiring.flipped(self.o))
        # Grants come late. The logic that depends on them has a module of its own, which synthesis keeps shallow.
        m.submodules.late = late = Module()
        head = Head(m, late, self.i, self.request, self.ahead)
        room = Signal(self.answers, init=-1)
        """A bit for each answer that may still be asked for; the lowest bits are set."""
        begun = Signal()
        """The head asks, because there is room for its answer."""
        granted = Signal(self.lanes)
        complete = Signal()
        move = Signal()
        leave = Signal()
        m.d.comb += [
            granted.eq(Cat(port.valid & port.ready for port in self.fm_read)),
            leave.eq(self.o.valid & self.o.ready),
            self.pending.eq(head.valid),
        ]
        ready = Cat(port.ready for port in self.fm_read)
        late.d.comb += [
            complete.eq(begun & ready.all()),
            move.eq(~begun | ready.all()),
            head.free.eq(~head.valid | (begun & ready.all())),
            self.wait_bank.eq(begun & ~ready.all()),
        ]
        more, free = leave, leave | Mux(begun, room[1], room[0])
        if not self.at_once:
            more, free = Signal(name="left"), Mux(begun, room[1], room[0])
            m.d.sync += more.eq(leave)
        late.d.sync += room.eq(Mux(
            more & ~complete, Cat(Const(1), room[:-1]), Mux(complete & ~more, Cat(room[1:], Const(0)), room)
        ))  # fmt: skip
        self._ask(m, late, head, begun, move, free)
        self._collect(m, complete, granted, self._read(head.payload), head.payload, waiting)
        return m

    def _read(self, request: Any) -> Value:
        return Const(-1, self.lanes) if self.always else request.read

    def _ask(self, m: Module, late: Module, head: Head, begun: Signal, move: Signal, room: Value) -> None:
        """Sets what the lanes want next, at a ``move``: when the request at hand is complete or none has begun. It is what the
        head wants if the head had no room so far, else what the entry behind it wants. ``room`` says that there will be room
        then."""
        held = Signal()
        begins = Signal()
        m.d.comb += held.eq(head.valid & ~begun)
        late.d.comb += begins.eq((head.next_valid | held) & room)
        with late.If(move):
            late.d.sync += begun.eq(begins)
        reads = Mux(held, self._read(head.payload), self._read(head.next))
        for lane, port in enumerate(self.fm_read):
            still = port.valid & ~port.ready if self.lanes > 1 else port.valid
            late.d.sync += port.valid.eq(Mux(move, reads[lane] & begins, still))
            m.d.comb += port.addr.eq(head.payload.addr[lane])

    def _collect(
        self, m: Module, complete: Signal, granted: Signal, read: Value, request: Any, waiting: Answers
    ) -> None:  # fmt: skip
        """Sends each complete request into the queue of answers after its read latency, and every word after that of its
        own."""
        travelling = data.StructLayout({
            "complete": unsigned(1), "came": unsigned(self.lanes), "read": unsigned(self.lanes), "fill": unsigned(8),
            "tag": self.tag,
        })  # fmt: skip
        now = Signal(travelling)
        m.d.comb += [
            now.complete.eq(complete),
            now.came.eq(granted),
            now.read.eq(read),
            now.fill.eq(0 if self.always else request.fill),
            now.tag.eq(request.tag),
        ]
        for age in range(BANK_LATENCY):
            older = Signal(travelling, name=f"age{age + 1}")
            m.d.sync += older.eq(now)
            if age == 1:
                # Grants come late, so the lanes that wait for nothing are marked a cycle after them.
                m.d.sync += older.came.eq(now.came | (now.complete.replicate(self.lanes) & ~now.read))
            now = older
        answer = waiting.i.payload
        m.d.comb += [
            waiting.i.valid.eq(now.complete), waiting.came.eq(now.came), answer.read.eq(now.read), answer.tag.eq(now.tag),
        ]  # fmt: skip
        for lane, port in enumerate(self.fm_read):
            m.d.comb += answer.words[lane].eq(port.data)
            if not self.always:
                m.d.comb += [port.padding.eq(~now.read[lane]), port.fill.eq(now.fill)]
