"""Takes runs of bytes and hands out their beats, with enough bursts on the way to hide the latency of DRAM."""

from __future__ import annotations

from typing import Any

from amaranth import Module, Mux, Signal, unsigned
from amaranth.hdl import ShapeLike
from amaranth.lib import data, stream, wiring
from amaranth.lib.fifo import SyncFIFOBuffered
from amaranth.lib.wiring import In, Out, connect, flipped
from amaranth.utils import exact_log2

from hw.axi.burst import BurstSplitter, run_layout
from hw.axi.credits import Credits
from hw.axi.signature import AxiRead
from isa.bounds import BOUNDS
from isa.config import MachineConfig
from isa.depths import owed_beats

READ_AHEAD_BURSTS = BOUNDS["axi_reads"].high
"""The most bursts on the way. The bus accepts no more than ``axi_reads`` (``hw/axi/arbiter.py``), so nobody need look at the
level of the queue of these bursts."""


def read_beat_layout(config: MachineConfig, tag: ShapeLike) -> data.StructLayout:
    """A beat whose bytes ``first`` to ``final`` belong to the run. ``last`` marks the last beat of the run, ``error`` an error
    from DRAM."""
    lane = unsigned(exact_log2(config.axi_bytes))
    return data.StructLayout({
        "data": unsigned(config.axi_data_bits),
        "first": lane,
        "final": lane,
        "last": unsigned(1),
        "error": unsigned(1),
        "tag": tag,
    })


class ReadEngine(wiring.Component):
    """Asks for one burst per cycle, hands on one beat per cycle, in the order of the runs.

    The first AR comes two cycles after its run, and a beat passes without a register. Beats can be stalled; AR then stops
    ``owed_beats`` ahead. With ``halt`` no AR is issued and what arrives is thrown away. ``idle`` tells that nothing is on the
    way.
    """

    def __init__(self, config: MachineConfig, tag: ShapeLike) -> None:
        self.config = config
        self.tag = tag
        super().__init__({
            "runs": In(stream.Signature(run_layout(config, tag))),
            "beats": Out(stream.Signature(read_beat_layout(config, tag))),
            "axi": Out(AxiRead(config)),
            "halt": In(1),
            "idle": Out(1),
        })

    def elaborate(self, platform: Any) -> Module:
        m = Module()
        lane = unsigned(exact_log2(self.config.axi_bytes))
        asked = data.StructLayout({"first": lane, "final": lane, "end": unsigned(1), "tag": self.tag})
        m.submodules.splitter = splitter = BurstSplitter(self.config, self.tag)
        m.submodules.asked = fifo = SyncFIFOBuffered(width=asked.size, depth=READ_AHEAD_BURSTS)
        connect(m, flipped(self.runs), splitter.i)

        burst = splitter.o.payload
        most = self.config.burst_beats
        ahead = owed_beats(self.config)
        m.submodules.coming = coming = Credits(ahead - 1 + most, step=most)
        may_ask = Signal()
        issue = Signal()
        arrive = Signal()
        m.d.comb += [
            may_ask.eq((coming.out < ahead) & ~self.halt),
            self.axi.ar.valid.eq(splitter.o.valid & may_ask),
            self.axi.ar.payload.addr.eq(burst.addr),
            self.axi.ar.payload.len.eq(burst.more),
            splitter.o.ready.eq(self.axi.ar.ready & may_ask),
            issue.eq(self.axi.ar.valid & self.axi.ar.ready),
            fifo.w_en.eq(issue),
            arrive.eq(self.axi.r.valid & self.axi.r.ready),
            coming.take.eq(Mux(issue, burst.beats, 0)),
            coming.give.eq(arrive),
            self.idle.eq(coming.out == 0),
        ]
        write = data.View(asked, fifo.w_data)
        m.d.comb += [getattr(write, name).eq(getattr(burst, name)) for name in ("first", "final", "end", "tag")]

        head = data.View(asked, fifo.r_data)
        begin = Signal(init=1)
        beat = self.beats.payload
        m.d.comb += [
            self.beats.valid.eq(self.axi.r.valid & fifo.r_rdy & ~self.halt),
            self.axi.r.ready.eq((self.beats.ready & fifo.r_rdy) | self.halt),
            # Under ``halt`` nobody needs these entries any more.
            fifo.r_en.eq(self.axi.r.valid & self.beats.ready & self.axi.r.payload.last),
            beat.data.eq(self.axi.r.payload.data),
            beat.first.eq(Mux(begin, head.first, 0)),
            beat.final.eq(Mux(self.axi.r.payload.last, head.final, self.config.axi_bytes - 1)),
            beat.last.eq(self.axi.r.payload.last & head.end),
            beat.error.eq(self.axi.r.payload.error),
            beat.tag.eq(head.tag),
        ]
        with m.If(arrive):
            m.d.sync += begin.eq(self.axi.r.payload.last)
        return m
