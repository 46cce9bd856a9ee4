"""Operand fetch: from window steps to channel vectors."""

from __future__ import annotations

from amaranth import Cat, Module, Mux, Signal, unsigned
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from hw.interfaces import READ_LATENCY, FaultSignature, FeatureMapRead, operand_layout
from hw.window.generator import step_layout
from hw.window.queue import Queue
from isa.config import MachineConfig
from isa.faults import Fault

_DEPTH = READ_LATENCY + 2
"""Operands between a grant and the reader's taking them, when both happen in every cycle."""


class OperandFetch(wiring.Component):
    """Reads the ``px_p`` words of each window step; one step per cycle while every lane is granted at once.

    Lanes are granted one by one; a lane that was granted early keeps its word until the others have
    theirs. A step starts only when the output queue has room for it, so that read data, which cannot be
    refused, always has a place: the reader may stall at any time. A word outside the buffer raises
    ``FM_ADDRESS`` when its step is reached, and nothing is read from then on.

    Latency ``READ_LATENCY + 2`` from step to operand: queue, grant, bank, crossbar, queue.
    """

    def __init__(self, config: MachineConfig) -> None:
        self.config = config
        super().__init__({
            "i": In(stream.Signature(step_layout(config.px_p))),
            "o": Out(stream.Signature(operand_layout(config))),
            "fm_read": Out(FeatureMapRead(config)).array(config.px_p),
            "fault": Out(FaultSignature()),
            "wait_bank": Out(1),
        })

    def elaborate(self, platform: object) -> Module:
        m = Module()
        n = self.config.px_p
        steps = data.StructLayout({"step": step_layout(n), "outside": unsigned(1)})
        m.submodules.steps = waiting = Queue(steps)
        m.submodules.operands = operands = Queue(operand_layout(self.config), _DEPTH)
        wiring.connect(m, operands.o, wiring.flipped(self.o))

        m.d.comb += [
            waiting.i.valid.eq(self.i.valid),
            self.i.ready.eq(waiting.i.ready),
            waiting.i.p.step.eq(self.i.p),
            waiting.i.p.outside.eq(
                Cat(lane.read & (lane.addr >= self.config.fm_words) for lane in self.i.p.lanes).any()
            ),
        ]

        head = waiting.o.p.step
        room = Signal(range(_DEPTH + 1), init=_DEPTH)
        taken = Signal(n)
        granted = Signal(n)
        present = Signal()
        complete = Signal()
        left = Signal()
        m.d.comb += [
            present.eq(waiting.o.valid & ~waiting.o.p.outside & (room != 0) & ~self.fault.valid),
            complete.eq(present & (granted | taken | ~Cat(lane.read for lane in head.lanes)).all()),
            waiting.o.ready.eq(complete),
            left.eq(operands.o.valid & operands.o.ready),
        ]
        m.d.sync += room.eq(room - complete + left)
        m.d.sync += taken.eq(Mux(complete, 0, taken | granted))
        for p, port in enumerate(self.fm_read):
            m.d.comb += [
                port.valid.eq(present & head.lanes[p].read & ~taken[p]),
                port.addr.eq(head.lanes[p].addr),
                granted[p].eq(port.valid & port.ready),
            ]
        m.d.comb += self.wait_bank.eq(Cat(port.valid & ~port.ready for port in self.fm_read).any())
        with m.If(waiting.o.valid & waiting.o.p.outside & ~self.fault.valid):
            m.d.sync += [
                self.fault.valid.eq(1),
                self.fault.fault.code.eq(Fault.FM_ADDRESS),
                self.fault.fault.pc.eq(head.pc),
            ]

        self._collect(m, complete, granted, head, operands)
        return m

    def _collect(self, m: Module, complete: Signal, granted: Signal, head: data.View, operands: Queue) -> None:
        """Send each complete step after its read latency into the output queue."""
        n = self.config.px_p
        travelling = data.StructLayout({
            "complete": unsigned(1), "granted": unsigned(n), "read": unsigned(n), "pad_value": unsigned(8),
            "first": unsigned(1), "last": unsigned(1), "last_of_outer": unsigned(1), "last_of_instruction": unsigned(1),
        })  # fmt: skip
        now = Signal(travelling)
        m.d.comb += [
            now.complete.eq(complete),
            now.granted.eq(granted),
            now.read.eq(Cat(lane.read for lane in head.lanes)),
            now.pad_value.eq(head.pad_value),
            now.first.eq(head.first),
            now.last.eq(head.last),
            now.last_of_outer.eq(head.last_of_outer),
            now.last_of_instruction.eq(head.last_of_instruction),
        ]
        for age in range(READ_LATENCY):
            older = Signal(travelling, name=f"age{age + 1}")
            m.d.sync += older.eq(now)
            now = older
        out = operands.i.p
        m.d.comb += [
            operands.i.valid.eq(now.complete),
            out.counted.eq(now.read),
            out.first.eq(now.first),
            out.last.eq(now.last),
            out.last_of_outer.eq(now.last_of_outer),
            out.last_of_instruction.eq(now.last_of_instruction),
        ]
        for p, port in enumerate(self.fm_read):
            early = Signal.like(port.data, name=f"early{p}")
            with m.If(now.granted[p]):
                m.d.sync += early.eq(port.data)
            word = Mux(now.granted[p], port.data, early)
            m.d.comb += out.data[p].eq(Mux(now.read[p], word, now.pad_value.replicate(self.config.ic_p)))
