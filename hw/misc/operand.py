"""Operand fetch: addresses in, feature-map words out, in order."""

from __future__ import annotations

from typing import Any

from amaranth import Module, Signal, unsigned
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from hw.interfaces import FM_ADDRESS_BITS, READ_LATENCY, FeatureMapRead
from hw.window.queue import Queue
from isa.config import MachineConfig

REQUEST = data.StructLayout({"addr": unsigned(FM_ADDRESS_BITS), "last": unsigned(1)})


class OperandFetch(wiring.Component):
    """Reads one word per request; ``last`` comes out beside its word.

    One word per cycle, ``READ_LATENCY + 2`` cycles from request to answer when the bank is free. A request is
    made of the bank only when its answer has a place in the answer queue, for an answer cannot be refused. The
    queues let one operand run ahead of the other, so that two operands that share a bank take turns only at the
    start and then walk one bank apart.
    """

    ANSWERS = 8

    def __init__(self, config: MachineConfig) -> None:
        self.answer = data.StructLayout({"word": unsigned(8 * config.ic_p), "last": unsigned(1)})
        super().__init__({
            "i": In(stream.Signature(REQUEST)),
            "fm_read": Out(FeatureMapRead(config)),
            "o": Out(stream.Signature(self.answer)),
        })

    def elaborate(self, platform: Any) -> Module:
        m = Module()
        m.submodules.requests = requests = Queue(REQUEST, depth=4)
        m.submodules.answers = answers = Queue(self.answer, depth=self.ANSWERS)
        wiring.connect(m, wiring.flipped(self.i), requests.i)
        wiring.connect(m, answers.o, wiring.flipped(self.o))

        promised = Signal(range(self.ANSWERS + 1))
        granted = Signal()
        under_way = Signal(READ_LATENCY)
        lasts = Signal(READ_LATENCY)
        m.d.comb += [
            self.fm_read.valid.eq(requests.o.valid & (promised != self.ANSWERS)),
            self.fm_read.addr.eq(requests.o.payload.addr),
            granted.eq(self.fm_read.valid & self.fm_read.ready),
            requests.o.ready.eq(granted),
            answers.i.valid.eq(under_way[-1]),
            answers.i.payload.word.eq(self.fm_read.data),
            answers.i.payload.last.eq(lasts[-1]),
        ]
        m.d.sync += [
            promised.eq(promised + granted - (self.o.valid & self.o.ready)),
            under_way.eq(under_way << 1 | granted),
            lasts.eq(lasts << 1 | requests.o.payload.last),
        ]
        return m
