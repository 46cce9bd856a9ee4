"""The watchdog: a machine that makes no progress stops instead of hanging."""

from __future__ import annotations

from amaranth import Module, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out


class Watchdog(wiring.Component):
    """``expired`` is high in the ``limit``-th cycle in a row with ``run`` and without ``progress``, and until progress.

    ``limit`` 0 switches it off. No latency: the cycle itself counts.
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
        quiet = Signal(32, init=1)
        """Cycles without progress, this one included if it is one."""
        m.d.comb += self.expired.eq(self.run & ~self.progress & (self.limit != 0) & (quiet >= self.limit))
        with m.If(~self.run | self.progress):
            m.d.sync += quiet.eq(1)
        with m.Elif(~self.expired):
            m.d.sync += quiet.eq(quiet + 1)
        return m
