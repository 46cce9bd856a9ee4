"""Stops a machine that makes no progress, so that it does not hang."""

from __future__ import annotations

from amaranth import Module, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out


class Watchdog(wiring.Component):
    """``expired`` is high in the ``limit``-th cycle in a row with ``run`` and without ``progress``, and until progress.

    ``limit`` 0 switches it off. A new limit counts from the next cycle on. There is no latency: the cycle itself counts.
    """

    def __init__(self) -> None:
        super().__init__({
            "run": In(1),
            "progress": In(1),
            "limit": In(32),
            "expired": Out(1),
        })

    def elaborate(self, platform: object) -> Module:
        m = Module()
        quiet = Signal(32, init=2)
        """The cycles without progress, if this one and the next are among them."""
        due = Signal()
        """The limit, as it was a cycle ago, is reached if this cycle is without progress."""
        m.d.comb += self.expired.eq(self.run & ~self.progress & due)
        with m.If(~self.run | self.progress):
            m.d.sync += [quiet.eq(2), due.eq(self.limit == 1)]
        with m.Elif(~due):
            m.d.sync += [quiet.eq(quiet + 1), due.eq((self.limit != 0) & (quiet >= self.limit))]
        return m
