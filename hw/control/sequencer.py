"""Runs the machine from start to done or error."""

from __future__ import annotations

from amaranth import Module, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from isa.stages import RESET

SETTLE_CYCLES = 16
"""The cycles without AXI traffic after which a halted machine counts as stopped. They are more than any unit takes to notice
``halt`` and to bring a burst that it has begun onto the bus."""


class Sequencer(wiring.Component):
    """The life of a program.

    =========  ===================================================================================================
    idle       ``done`` or ``error`` tells how the last program ended; ``start`` begins the next one
    clear      ``clear`` in the first cycle resets everything that the last program left, in control and in the units;
               then ``RESET``, until all of it is reset
    run        first cycle: ``begin``. Then until ``complete``: idle and ``done``; or until ``fault``: halt
    halt       the units finish their bursts. After ``SETTLE_CYCLES`` of ``drained`` in a row: idle and ``error``
    drain      DRAM owes answers longer than it may: ``error`` is told at once, idle comes after them, as from halt
    wipe       one cycle: ``clear``, and ``wipe`` resets the registers. From idle, while a ``reset`` is asked for
    =========  ===================================================================================================

    A bus that never answers must not keep the machine from reporting, so ``expired`` ends the wait in halt. But what is still
    on its way then would meet the next program, so none begins before it has come. Only a reset of machine and bus together
    ends a wait in drain for what never comes.

    ``running`` (in run) and ``halting`` (in halt) are registers. ``finished`` strobes in the last busy cycle of every program
    that is not stopped by a reset.
    """

    def __init__(self) -> None:
        super().__init__({
            "start": In(1),
            "reset": In(1),
            "complete": In(1),
            "fault": In(1),
            "drained": In(1),
            "expired": In(1),
            "clear": Out(1),
            "wipe": Out(1),
            "begin": Out(1),
            "idle": Out(1),
            "busy": Out(1),
            "running": Out(1),
            "halting": Out(1),
            "done": Out(1),
            "error": Out(1),
            "finished": Out(1),
        })

    def elaborate(self, platform: object) -> Module:
        m = Module()
        settled = Signal(range(SETTLE_CYCLES))
        waited = Signal(range(RESET + 1))
        """The cycles in the state clear so far."""
        still = Signal()
        resting = Signal(init=1)
        """The state is idle. Writes to registers depend on it."""
        m.d.comb += self.idle.eq(resting & ~self.reset)
        m.d.comb += still.eq(self.drained & (settled == SETTLE_CYCLES - 1))
        m.d.sync += settled.eq(settled + 1)
        with m.If(~self.drained | self.running):
            m.d.sync += settled.eq(0)
        with m.FSM():
            with m.State("IDLE"):
                with m.If(self.reset):
                    m.d.sync += resting.eq(0)
                    m.next = "WIPE"
                with m.Elif(self.start):
                    m.d.sync += [resting.eq(0), self.done.eq(0), self.error.eq(0), self.busy.eq(1)]
                    m.next = "CLEAR"
            with m.State("WIPE"):
                m.d.comb += [self.clear.eq(1), self.wipe.eq(1)]
                m.d.sync += [resting.eq(1), self.done.eq(0), self.error.eq(0)]
                m.next = "IDLE"
            with m.State("CLEAR"):
                m.d.comb += self.clear.eq(~waited.any())
                m.d.sync += waited.eq(waited + 1)
                with m.If(waited == RESET):
                    m.d.sync += [waited.eq(0), self.begin.eq(1), self.running.eq(1)]
                    m.next = "RUN"
            with m.State("RUN"):
                m.d.sync += self.begin.eq(0)
                with m.If(self.fault):
                    m.d.sync += [self.running.eq(0), self.halting.eq(1)]
                    m.next = "HALT"
                with m.Elif(self.complete):
                    m.d.comb += self.finished.eq(~self.reset)
                    m.d.sync += [resting.eq(1), self.running.eq(0), self.busy.eq(0), self.done.eq(1)]
                    m.next = "IDLE"
            with m.State("HALT"):
                with m.If(still | self.expired):
                    m.d.comb += self.finished.eq(~self.reset)
                    m.d.sync += [self.halting.eq(0), self.busy.eq(0), self.error.eq(1)]
                    m.next = "DRAIN"
                with m.If(still):
                    m.d.sync += resting.eq(1)
                    m.next = "IDLE"
            with m.State("DRAIN"), m.If(still):
                m.d.sync += resting.eq(1)
                m.next = "IDLE"
        return m
