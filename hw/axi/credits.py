"""A counter of what may still be sent."""

from __future__ import annotations

from typing import Any

from amaranth import Module, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out


class Credits(wiring.Component):
    """Starts with ``count`` credits; ``take`` takes one, ``give`` gives one back, both in one cycle leave their number.

    ``left``: there is one to take. From a register: what is given in one cycle can be taken in the next. ``all_here``: none
    is out. Whoever takes without ``left``, or gives what was not taken, breaks the count.
    """

    def __init__(self, count: int) -> None:
        self.count = count
        super().__init__({"take": In(1), "give": In(1), "left": Out(1), "all_here": Out(1)})

    def elaborate(self, platform: Any) -> Module:
        m = Module()
        out = Signal(range(self.count + 1))
        m.d.comb += [self.left.eq(out != self.count), self.all_here.eq(out == 0)]
        with m.If(self.take & ~self.give):
            m.d.sync += out.eq(out + 1)
        with m.Elif(self.give & ~self.take):
            m.d.sync += out.eq(out - 1)
        return m
