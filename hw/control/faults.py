"""The first fault wins: collects every report and keeps one."""

from __future__ import annotations

from amaranth import Module
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from hw.interfaces import FaultSignature


class Faults(wiring.Component):
    """Keeps the first of ``sources`` reports; among those of one cycle, the one with the lowest index.

    Latency one cycle. A report need not last longer than a cycle. ``first`` stays until reset; its ``valid`` halts the
    machine.
    """

    def __init__(self, sources: int) -> None:
        super().__init__({"reports": In(FaultSignature()).array(sources), "first": Out(FaultSignature())})

    def elaborate(self, platform: object) -> Module:
        m = Module()
        for report in reversed(self.reports):
            with m.If(report.valid & ~self.first.valid):
                m.d.sync += [self.first.valid.eq(1), self.first.fault.eq(report.fault)]
        return m
