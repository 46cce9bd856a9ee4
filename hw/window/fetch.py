"""Fetches the channel vectors of window steps."""

from __future__ import annotations

from amaranth import Cat, Module, Signal
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from hw.arithmetic.small import at_least
from hw.buffers.read_port import ANSWERS, ReadPort
from hw.interfaces import FaultSignature, FeatureMapRead, operand_layout
from hw.window.layouts import marks_of, step_layout
from isa.config import MachineConfig
from isa.faults import Fault


class WindowFetch(wiring.Component):
    """Reads the words of each window step, one step per cycle while every lane is granted at once. A step waits while a lane is
    not.

    A lane that reads nothing sees ``pad_value``. The reader may stall at any time (``ReadPort``). A word outside the buffer
    raises ``FM_ADDRESS`` when its step is reached, and nothing is read from then on.

    The latency from step to operand is ``BANK_LATENCY + 2``: queue, then grant, bank and queue.
    """

    def __init__(self, config: MachineConfig, taps: int = 1) -> None:
        self.config = config
        self.steps = step_layout(config, config.px_p, taps)
        self.tag = data.StructLayout(marks_of(taps))
        self.lanes = config.px_p + taps - 1
        super().__init__({
            "i": In(stream.Signature(self.steps)),
            "o": Out(stream.Signature(operand_layout(config, taps))),
            "fm_read": Out(FeatureMapRead(config, pads=True)).array(self.lanes),
            "fault": Out(FaultSignature()),
            "wait_bank": Out(1),
        })

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.submodules.port = port = ReadPort(self.config, self.lanes, self.tag, ANSWERS + 2, at_once=False)
        for inner, outer in zip(port.fm_read, self.fm_read, strict=True):
            wiring.connect(m, inner, wiring.flipped(outer))
        outside = Signal()
        wrong = Signal()
        """A step outside was seen. It waits for those before it. Then it is dropped, as all that follow are."""
        m.d.comb += [
            outside.eq(Cat(lane.read & at_least(lane.addr, self.config.fm_words) for lane in self.i.p.lanes).any()),
            port.i.valid.eq(self.i.valid & ~outside & ~wrong),
            self.i.ready.eq(port.i.ready),
        ]
        with m.If(self.i.valid & outside & ~wrong):
            m.d.sync += [
                wrong.eq(1),
                self.fault.fault.code.eq(Fault.FM_ADDRESS),
                self.fault.fault.ticket.eq(self.i.p.ticket),
            ]
        with m.If(wrong & ~port.pending):
            m.d.sync += self.fault.valid.eq(1)

        step = self.i.p
        m.d.comb += [
            port.i.p.fill.eq(step.pad_value),
            port.i.p.read.eq(Cat(lane.read for lane in step.lanes)),
            *(port.i.p.addr[p].eq(lane.addr) for p, lane in enumerate(step.lanes)),
            *(port.i.p.tag[name].eq(step[name]) for name in self.tag.members),
            self.wait_bank.eq(port.wait_bank),
        ]

        answer = port.o.p
        m.d.comb += [
            self.o.valid.eq(port.o.valid),
            port.o.ready.eq(self.o.ready),
            self.o.p.counted.eq(answer.read),
            *(self.o.p[name].eq(answer.tag[name]) for name in self.tag.members),
            *(self.o.p.data[p].eq(answer.words[p]) for p in range(self.lanes)),
        ]
        return m
