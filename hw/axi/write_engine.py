"""Takes runs of bytes and their beats, issues write bursts and counts the responses."""

from __future__ import annotations

from typing import Any

from amaranth import Module, Mux, Signal, unsigned
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out, connect, flipped

from hw.axi.burst import BurstSplitter, burst_layout, run_layout
from hw.axi.credits import Credits
from hw.axi.signature import AxiWrite
from hw.buffers.fifo import RoomFifo
from isa.config import MachineConfig

AHEAD_BURSTS = 8
"""The most bursts whose address has been sent and whose data has not."""
OPEN_BURSTS = 64
"""The most bursts whose response has not arrived."""
NO_TAG = unsigned(1)
"""The tag of writes, which need none. It has a bit, which nobody reads, because Verilog knows no signal without bits."""


def strobed_layout(config: MachineConfig) -> data.StructLayout:
    """An aligned beat to be written. ``strb`` has a bit for each byte."""
    return data.StructLayout({"data": unsigned(config.axi_data_bits), "strb": unsigned(config.axi_bytes)})


class WriteEngine(wiring.Component):
    """Issues one AW per cycle and one W beat per cycle; ``beats`` are exactly those of ``runs``, in order.

    A burst's data follows its address by two cycles or more. It never waits for the address to be accepted, because a
    subordinate may ask for the data first. AW stalls while ``AHEAD_BURSTS`` bursts wait for data, or ``OPEN_BURSTS`` bursts for
    a response. ``done`` strobes when the last response of a transfer has arrived. ``error`` strobes when a response reports an
    error, which belongs to the oldest transfer that is not done. An AW comes two cycles after its run. With ``halt`` no AW is
    issued, and bursts already issued are completed with all strobes off. ``idle`` tells that every response is there.
    """

    def __init__(self, config: MachineConfig) -> None:
        self.config = config
        super().__init__({
            "runs": In(stream.Signature(run_layout(config, NO_TAG))),
            "beats": In(stream.Signature(strobed_layout(config))),
            "axi": Out(AxiWrite(config)),
            "halt": In(1),
            "done": Out(1),
            "error": Out(1),
            "idle": Out(1),
        })

    def elaborate(self, platform: Any) -> Module:
        m = Module()
        beats = burst_layout(self.config, NO_TAG)["more"].width
        m.submodules.splitter = splitter = BurstSplitter(self.config, NO_TAG)
        m.submodules.lengths = lengths = RoomFifo(width=beats, depth=AHEAD_BURSTS)
        m.submodules.responses = responses = RoomFifo(width=1, depth=OPEN_BURSTS)
        connect(m, flipped(self.runs), splitter.i)

        aw, w, b = self.axi.aw, self.axi.w, self.axi.b
        burst = splitter.o.payload
        may_issue = Signal()
        issue = Signal()
        m.d.comb += [
            may_issue.eq(lengths.w_rdy & responses.w_rdy & ~self.halt),
            aw.valid.eq(splitter.o.valid & may_issue),
            aw.payload.addr.eq(burst.addr),
            aw.payload.len.eq(burst.more),
            splitter.o.ready.eq(aw.ready & may_issue),
            issue.eq(aw.valid & aw.ready),
            lengths.w_en.eq(issue),
            lengths.w_data.eq(burst.more),
            responses.w_en.eq(issue),
            responses.w_data.eq(burst.last),
        ]

        number = Signal(beats)
        send = Signal()
        m.d.comb += [
            w.valid.eq(lengths.r_rdy & (self.beats.valid | self.halt)),
            w.payload.data.eq(self.beats.payload.data),
            w.payload.strb.eq(Mux(self.halt, 0, self.beats.payload.strb)),
            w.payload.last.eq(number == lengths.r_data),
            self.beats.ready.eq(lengths.r_rdy & w.ready & ~self.halt),
            send.eq(w.valid & w.ready),
            lengths.r_en.eq(send & w.payload.last),
        ]
        with m.If(send):
            m.d.sync += number.eq(Mux(w.payload.last, 0, number + 1))

        answered = Signal()
        m.submodules.open_bursts = open_bursts = Credits(OPEN_BURSTS + 1)
        m.d.comb += [
            b.ready.eq(responses.r_rdy),
            answered.eq(b.valid & b.ready),
            responses.r_en.eq(answered),
            self.done.eq(answered & responses.r_data),
            self.error.eq(answered & b.payload.error),
            open_bursts.take.eq(issue),
            open_bursts.give.eq(answered),
            self.idle.eq(open_bursts.out == 0),
        ]
        return m
