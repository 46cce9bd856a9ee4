"""Cuts runs of bytes into legal AXI bursts."""

from __future__ import annotations

from typing import Any

from amaranth import Cat, Const, Module, Mux, Signal, unsigned
from amaranth.hdl import ShapeLike
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out
from amaranth.utils import exact_log2

from isa.config import MachineConfig

RUN_BYTES_BITS = 28
"""The bits of the longest run: ``LOAD.valid``, or every word of the largest parameter buffer."""


def run_layout(config: MachineConfig, tag: ShapeLike) -> data.StructLayout:
    """A run of ``bytes`` (at least one) from ``addr`` on. ``last`` marks the last run of its transfer. ``tag`` is for the part
    that asked."""
    return data.StructLayout({
        "addr": unsigned(config.axi_addr_bits),
        "bytes": unsigned(RUN_BYTES_BITS),
        "last": unsigned(1),
        "tag": tag,
    })


def burst_layout(config: MachineConfig, tag: ShapeLike) -> data.StructLayout:
    """A burst of ``beats``, which is ``more`` and one. ``first`` and ``final`` are the first valid byte of its first beat and
    the last one of its last beat."""
    lane = unsigned(exact_log2(config.axi_bytes))
    return data.StructLayout({
        "addr": unsigned(config.axi_addr_bits),
        "beats": unsigned(exact_log2(config.burst_beats) + 1),
        "more": unsigned(max(1, exact_log2(config.burst_beats))),
        "first": lane,
        "final": lane,
        "end": unsigned(1),
        "last": unsigned(1),
        "tag": tag,
    })


class BurstSplitter(wiring.Component):
    """Cuts runs at multiples of ``burst_beats`` beats. It makes one burst per cycle; the first comes two cycles after its run.

    It stalls while ``o`` is refused. ``end`` marks the last burst of a run, ``last`` that of a transfer.
    """

    def __init__(self, config: MachineConfig, tag: ShapeLike) -> None:
        self.config = config
        self.tag = tag
        super().__init__({
            "i": In(stream.Signature(run_layout(config, tag))),
            "o": Out(stream.Signature(burst_layout(config, tag))),
        })

    def elaborate(self, platform: Any) -> Module:
        m = Module()
        beat_bits = exact_log2(self.config.axi_bytes)
        most = self.config.burst_beats
        most_bits = exact_log2(most)
        address_bits = self.config.axi_addr_bits - beat_bits
        window_bits = beat_bits + most_bits
        bursts = unsigned(RUN_BYTES_BITS - window_bits + 2)
        layout = data.StructLayout({
            "beat": unsigned(address_bits),
            "bursts": bursts,
            "final_beat": unsigned(most_bits),
            "first": unsigned(beat_bits),
            "final": unsigned(beat_bits),
            "last": unsigned(1),
            "tag": self.tag,
        })
        counted = Signal(layout)
        counted_valid = Signal()
        run = Signal(layout)
        run_valid = Signal()
        first_burst = Signal()
        take = Signal()
        both = Signal()
        """Both ``counted_valid`` and ``run_valid`` are high."""
        end = Signal()
        """``run`` has one burst left."""
        more = Signal(max(1, most_bits))
        """The beats of the run's next burst, less one."""
        behind = Signal(RUN_BYTES_BITS + 1)
        """The number of the last byte, counted from where the longest burst would begin, plus the bytes of such a burst. So its
        quotient by those bytes is the number of bursts."""
        before = Signal(window_bits + 1)
        m.d.comb += [
            self.i.ready.eq(~both | (self.o.ready & end)),
            before.eq(self.i.payload.addr[:window_bits] + ((1 << window_bits) - 1)),
            behind.eq(self.i.payload.bytes + before),
        ]
        with m.If(self.i.ready):
            m.d.sync += [
                counted_valid.eq(self.i.valid),
                counted.beat.eq(self.i.payload.addr[beat_bits:]),
                counted.bursts.eq(behind >> window_bits),
                counted.final_beat.eq(behind[beat_bits:window_bits]),
                counted.first.eq(self.i.payload.addr[:beat_bits]),
                counted.final.eq(behind[:beat_bits]),
                counted.last.eq(self.i.payload.last),
                counted.tag.eq(self.i.payload.tag),
            ]

        m.d.comb += [
            self.o.valid.eq(run_valid),
            self.o.payload.addr.eq(Cat(Const(0, beat_bits), run.beat)),
            self.o.payload.more.eq(more),
            self.o.payload.beats.eq(more + 1),
            self.o.payload.first.eq(Mux(first_burst, run.first, 0)),
            self.o.payload.final.eq(Mux(end, run.final, self.config.axi_bytes - 1)),
            self.o.payload.end.eq(end),
            self.o.payload.last.eq(end & run.last),
            self.o.payload.tag.eq(run.tag),
            take.eq(~run_valid | (self.o.ready & end)),
        ]
        m.d.sync += both.eq(Mux(take, counted_valid & self.i.valid, counted_valid | self.i.valid))
        single, before = counted.bursts == 1, counted.beat[:most_bits]
        with m.If(take):
            m.d.sync += [run.eq(counted), run_valid.eq(counted_valid), first_burst.eq(1), end.eq(single)]
            m.d.sync += more.eq(Mux(single, counted.final_beat - before, most - 1 - before))
        with m.Elif(self.o.ready):
            m.d.sync += [
                run.beat.eq(Cat(Const(0, most_bits), run.beat[most_bits:] + 1)),
                run.bursts.eq(run.bursts - 1),
                end.eq(run.bursts == 2),
                more.eq(Mux(run.bursts == 2, run.final_beat, most - 1)),
                first_burst.eq(0),
            ]
        return m
