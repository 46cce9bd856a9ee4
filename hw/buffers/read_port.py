"""Reading the feature maps in order: requests in, words out, and what was sent along with them."""

from __future__ import annotations

from amaranth import Cat, Const, Module, Mux, Signal, Value, unsigned
from amaranth.hdl import ShapeLike
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from hw.interfaces import READ_LATENCY, FeatureMapRead
from hw.window.queue import Queue
from isa.config import MachineConfig

ANSWERS = READ_LATENCY + 2
"""Answers between a grant and the reader's taking them, when both happen in every cycle."""


def request_layout(config: MachineConfig, lanes: int, tag: ShapeLike) -> data.StructLayout:
    """The words to read, at most one for each lane; a lane that does not ``read`` gets ``fill`` in every byte. ``tag``
    comes out beside the words."""
    return data.StructLayout({
        "read": unsigned(lanes),
        "fill": unsigned(8),
        "addr": data.ArrayLayout(config.fm_address_bits, lanes),
        "tag": tag,
    })


def answer_layout(config: MachineConfig, lanes: int, tag: ShapeLike) -> data.StructLayout:
    return data.StructLayout({"words": data.ArrayLayout(8 * config.ic_p, lanes), "read": unsigned(lanes), "tag": tag})


class ReadPort(wiring.Component):
    """One request per cycle while its lanes are granted at once; latency ``READ_LATENCY + 1`` from grant to answer.

    Lanes are granted one by one; a lane that was granted early keeps its word until the others have theirs. A request
    begins only when ``answers`` has room for it, so that read data, which cannot be refused, always has a place: the
    reader of ``o`` may stall at any time. Give ``i`` from registers (``HeadQueue``): the banks' arbitration hangs on it.
    With ``always`` every lane reads in every request, and ``read`` and ``fill`` are ignored.
    """

    def __init__(
        self, config: MachineConfig, lanes: int, tag: ShapeLike, answers: int = ANSWERS, *, always: bool = False
    ) -> None:
        self.config = config
        self.always = always
        self.lanes = lanes
        self.tag = tag
        self.answers = answers
        super().__init__({
            "i": In(stream.Signature(request_layout(config, lanes, tag))),
            "o": Out(stream.Signature(answer_layout(config, lanes, tag))),
            "fm_read": Out(FeatureMapRead(config)).array(lanes),
            "wait_bank": Out(1),
        })

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.submodules.waiting = waiting = Queue(answer_layout(self.config, self.lanes, self.tag), self.answers)
        wiring.connect(m, waiting.o, wiring.flipped(self.o))
        room = Signal(range(self.answers + 1), init=self.answers)
        may_ask = Signal(init=1)
        """There is room."""
        granted = Signal(self.lanes)
        missing = Signal(self.lanes)
        complete = Signal()
        leave = Signal()
        taken = Signal(self.lanes)
        begin = self.i.valid & may_ask
        read = Const(-1, self.lanes) if self.always else self.i.payload.read
        m.d.comb += [
            missing.eq(Cat(port.valid & ~port.ready for port in self.fm_read)),
            granted.eq(Cat(port.valid & port.ready for port in self.fm_read)),
            complete.eq(begin & ~missing.any()),
            leave.eq(self.o.valid & self.o.ready),
            self.i.ready.eq(may_ask & ~missing.any()),
            self.wait_bank.eq(missing.any()),
        ]
        m.d.sync += [
            room.eq(room - complete + leave),
            may_ask.eq(leave | Mux(complete, room > 1, room != 0)),
        ]
        if self.lanes > 1:
            m.d.sync += taken.eq(Mux(complete, 0, taken | granted))
        for lane, port in enumerate(self.fm_read):
            m.d.comb += [
                port.valid.eq(begin & read[lane] & ~taken[lane]),
                port.addr.eq(self.i.payload.addr[lane]),
            ]
        self._collect(m, complete, granted, read, waiting)
        return m

    def _collect(self, m: Module, complete: Signal, granted: Signal, read: Value, waiting: Queue) -> None:
        """Send each complete request after its read latency into the queue of answers."""
        travelling = data.StructLayout({
            "complete": unsigned(1), "granted": unsigned(self.lanes), "read": unsigned(self.lanes), "fill": unsigned(8),
            "tag": self.tag,
        })  # fmt: skip
        now = Signal(travelling)
        m.d.comb += [
            now.complete.eq(complete),
            now.granted.eq(granted),
            now.read.eq(read),
            now.fill.eq(self.i.payload.fill),
            now.tag.eq(self.i.payload.tag),
        ]
        for age in range(READ_LATENCY):
            older = Signal(travelling, name=f"age{age + 1}")
            m.d.sync += older.eq(now)
            now = older
        answer = waiting.i.payload
        m.d.comb += [waiting.i.valid.eq(now.complete), answer.read.eq(now.read), answer.tag.eq(now.tag)]
        for lane, port in enumerate(self.fm_read):
            word: Value = port.data
            if self.lanes > 1:
                early = Signal.like(port.data, name=f"early{lane}", reset_less=True)
                with m.If(now.granted[lane] & ~now.complete):
                    m.d.sync += early.eq(port.data)
                word = Mux(now.granted[lane], word, early)
            if not self.always:
                word = Mux(now.read[lane], word, now.fill.replicate(self.config.ic_p))
            m.d.comb += answer.words[lane].eq(word)
