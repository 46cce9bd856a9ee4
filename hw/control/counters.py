"""What the driver can measure: cycles, beats, and what each unit does with its time."""

from __future__ import annotations

from amaranth import Module, Signal, unsigned
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from isa.registers import Counter

COUNTER_BITS = 32


class UnitCounters(wiring.Component):
    """The counters of one unit: each counts the cycles with ``run`` in which its bit of ``events`` is high.

    Events are registered first, so a counter lags by one cycle; counters wrap and start at 0 after reset.
    """

    def __init__(self) -> None:
        super().__init__({
            "run": In(1),
            "events": In(len(Counter)),
            "values": Out(data.ArrayLayout(unsigned(COUNTER_BITS), len(Counter))),
        })

    def elaborate(self, platform: object) -> Module:
        m = Module()
        seen = Signal(len(Counter))
        m.d.sync += seen.eq(self.events & self.run.replicate(len(Counter)))
        for counter in Counter:
            with m.If(seen[counter]):
                m.d.sync += self.values[counter].eq(self.values[counter] + 1)
        return m


class MachineCounters(wiring.Component):
    """Cycles with ``run`` (64 bits), and data beats on the AXI read and write channels, all since reset."""

    def __init__(self) -> None:
        super().__init__({
            "run": In(1),
            "read_beat": In(1),
            "write_beat": In(1),
            "cycles": Out(64),
            "read_beats": Out(COUNTER_BITS),
            "write_beats": Out(COUNTER_BITS),
        })

    def elaborate(self, platform: object) -> Module:
        m = Module()
        with m.If(self.run):
            m.d.sync += [
                self.cycles.eq(self.cycles + 1),
                self.read_beats.eq(self.read_beats + self.read_beat),
                self.write_beats.eq(self.write_beats + self.write_beat),
            ]
        return m
