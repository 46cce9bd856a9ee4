"""Counters that the driver can read: cycles, beats, and how each unit spends its time."""

from __future__ import annotations

from amaranth import Module, Mux, Signal, unsigned
from amaranth.lib import memory, wiring
from amaranth.lib.wiring import In, Out
from amaranth.utils import bits_for

from hw.arithmetic.choice import pick

COUNTER_BITS = 32


class CounterFile(wiring.Component):
    """A counter for each of ``events``. It counts the cycles with ``run`` in which its event's bit is high.

    One memory with one adder holds the counts. Beside it every counter has a few bits of its own, which count until the counter
    is visited and are then added to its word. The counters are visited in turn, but one that is asked for is visited at once.
    ``value`` is that of counter ``index`` two cycles after ``ask``, with every event up to the cycle before ``ask``. ``ask`` is
    never high in two cycles in a row, so no counter waits longer than twice its turn. Nothing stalls.

    Counters wrap. They are 0 after reset, because a word that has not been visited since then counts as 0.
    """

    def __init__(self, events: int) -> None:
        self.number = events
        super().__init__({
            "run": In(1),
            "events": In(events),
            "ask": In(1),
            "index": In(range(events)),
            "value": Out(COUNTER_BITS),
        })

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.submodules.values = values = memory.Memory(shape=unsigned(COUNTER_BITS), depth=self.number, init=[])
        write = values.write_port()
        read = values.read_port(domain="comb")
        seen = Signal(self.number)
        known = Signal(self.number)
        turn = Signal(range(self.number))
        visited = Signal(range(self.number))
        total = Signal(COUNTER_BITS)
        few = [Signal(bits_for(2 * self.number + 2), name=f"few_{number}") for number in range(self.number)]
        m.d.comb += [
            read.addr.eq(visited),
            total.eq(Mux(pick(list(known), visited), read.data, 0) + pick(few, visited)),
            write.en.eq(1),
            write.addr.eq(visited),
            write.data.eq(total),
        ]
        m.d.sync += [self.value.eq(total), visited.eq(Mux(self.ask, self.index, turn)), seen.eq(Mux(self.run, self.events, 0))]
        for number, count in enumerate(few):
            here = visited == number
            m.d.sync += count.eq(Mux(here, 0, count) + seen[number])
            with m.If(here):
                m.d.sync += known[number].eq(1)
        with m.If(~self.ask):
            m.d.sync += turn.eq(Mux(turn == self.number - 1, 0, turn + 1))
        return m


class CycleCounter(wiring.Component):
    """Counts the cycles with ``run`` since reset, in 64 bits."""

    def __init__(self) -> None:
        super().__init__({"run": In(1), "cycles": Out(64)})

    def elaborate(self, platform: object) -> Module:
        m = Module()
        with m.If(self.run):
            m.d.sync += self.cycles.eq(self.cycles + 1)
        return m
