"""Tells whether a unit has instructions before it."""

from __future__ import annotations

from amaranth import Cat, Const, Module, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out


class Unfinished(wiring.Component):
    """Counts up to ``most`` instructions from ``begun`` to ``finished``. ``none``, from a register, says that there is none.

    The latency is one cycle from ``begun``, and two from ``finished``, which comes late. It never stalls. All that an
    instruction goes through lies between the two, so no other part need be asked.
    """

    def __init__(self, most: int) -> None:
        self.most = most
        super().__init__({"begun": In(1), "finished": In(1), "none": Out(1, init=1)})

    def elaborate(self, platform: object) -> Module:
        m = Module()
        count = Signal(range(self.most + 1))
        finished = Signal(name="finished_before")
        m.d.sync += finished.eq(self.finished)
        with m.If(self.begun ^ finished):
            m.d.sync += [
                count.eq(count + Cat(Const(1, 1), finished.replicate(len(count) - 1))),
                self.none.eq(finished & (count == 1)),
            ]
        return m
