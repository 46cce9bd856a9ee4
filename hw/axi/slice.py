"""A register between two streams."""

from __future__ import annotations

from typing import Any

from amaranth import Module, Mux, Signal
from amaranth.lib import stream, wiring
from amaranth.lib.data import Layout
from amaranth.lib.wiring import In, Out


class RegisterSlice(wiring.Component):
    """Cuts every path between ``i`` and ``o``, forward and backward. It takes one item per cycle, with one cycle of latency.

    It holds two items: the one on ``o``, and the one that arrived in the cycle in which ``o`` was refused. It stalls ``i``
    while it holds both. ``next`` is the item behind the one on ``o``: the spare one, or that of ``i`` if none is spare.
    """

    def __init__(self, layout: Layout) -> None:
        self.layout = layout
        super().__init__({"i": In(stream.Signature(layout)), "o": Out(stream.Signature(layout)), "next": Out(layout)})

    def elaborate(self, platform: Any) -> Module:
        m = Module()
        spare = Signal(self.layout)
        free = Signal(init=1)
        """No item is spare. The register has this sense so that ``ready`` comes straight from it."""
        spare_valid = Signal()
        m.d.comb += [self.i.ready.eq(free), spare_valid.eq(~free), self.next.eq(Mux(free, self.i.payload, spare))]
        with m.If(~self.o.valid | self.o.ready):
            m.d.sync += self.o.valid.eq(spare_valid | self.i.valid)
            m.d.sync += free.eq(1)
            m.d.sync += self.o.payload.eq(self.next)
        with m.Elif(self.i.valid & free):
            m.d.sync += [spare.eq(self.i.payload), free.eq(0)]
        return m
