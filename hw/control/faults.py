"""Collects every fault report and keeps the first."""

from __future__ import annotations

from amaranth import Const, Module, Signal, Value, unsigned
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from hw.fault_latch import first_report
from hw.interfaces import FAULT_LAYOUT
from isa.instructions import Unit

NO_UNIT = len(Unit)
"""The number that stands for no unit: the fault belongs to the instruction that is being dispatched."""
KEPT_LAYOUT = data.StructLayout({**FAULT_LAYOUT.members, "unit": unsigned(NO_UNIT.bit_length())})
"""A code, and the instruction: a ticket of that unit."""


class Faults(wiring.Component):
    """Keeps the first of the reports. ``units`` has an entry for each source: the unit to which the source's tickets belong, or
    None if its report names the unit beside the ticket. Among the reports of one cycle the one with the lowest index is kept.

    The latency is one cycle. A report need not last longer than a cycle. ``valid`` stays until reset and halts the machine.
    """

    def __init__(self, units: list[int | None]) -> None:
        self.units = units
        super().__init__({
            "reports": In(wiring.Signature({"valid": Out(1), "p": Out(KEPT_LAYOUT)})).array(len(units)),
            "valid": Out(1),
            "first": Out(KEPT_LAYOUT),
        })

    def elaborate(self, platform: object) -> Module:
        m = Module()
        sources: list[tuple[Value, Value]] = []
        for number, (report, unit) in enumerate(zip(self.reports, self.units, strict=True)):
            told = Signal(KEPT_LAYOUT, name=f"report_{number}")
            m.d.comb += told.eq(report.p)
            if unit is not None:
                m.d.comb += told.unit.eq(Const(unit))
            sources.append((report.valid, told.as_value()))
        valid, first = first_report(sources)
        # Software may read the code at any time, so the code is NONE until there is a fault.
        with m.If(valid & ~self.valid):
            m.d.sync += [self.valid.eq(1), self.first.eq(first)]
        return m
