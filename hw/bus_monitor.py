"""Reports what goes on at the machine's AXI port to counters, watchdog and shutdown."""

from __future__ import annotations

from typing import Any

from amaranth import Cat, Module
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from hw.axi.credits import Credits
from hw.axi.signature import Axi4
from hw.control.units import BusActivity
from isa.config import MachineConfig

MOST_BURSTS = 127
"""More bursts than all users together may have on the way in one direction."""


class BusMonitor(wiring.Component):
    """Watches the port from outside, so that a burst counts from the moment the bus can see it to its last answer.

    Combinational, but for the counters of outstanding bursts. It never stalls anything.
    """

    def __init__(self, config: MachineConfig) -> None:
        super().__init__({"axi": In(Axi4(config).flip()), "activity": Out(BusActivity().flip())})

    def elaborate(self, platform: Any) -> Module:
        m = Module()
        axi = self.axi
        beat = {name: getattr(axi, f"{name}valid") & getattr(axi, f"{name}ready") for name in ("ar", "r", "aw", "w", "b")}
        m.submodules.reads = reads = Credits(MOST_BURSTS)
        m.submodules.writes = writes = Credits(MOST_BURSTS)
        m.d.comb += [
            reads.take.eq(beat["ar"]),
            reads.give.eq(beat["r"] & axi.rlast),
            writes.take.eq(beat["aw"]),
            writes.give.eq(beat["b"]),
        ]
        asked = axi.arvalid | axi.awvalid | axi.wvalid
        m.d.comb += [
            self.activity.handshake.eq(Cat(*beat.values()).any()),
            self.activity.read_beat.eq(beat["r"]),
            self.activity.write_beat.eq(beat["w"]),
            self.activity.drained.eq((reads.out == 0) & (writes.out == 0) & ~asked),
        ]
        return m
