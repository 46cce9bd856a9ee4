"""A register between two streams."""

from __future__ import annotations

from typing import Any

from amaranth import Module, Signal
from amaranth.lib import stream, wiring
from amaranth.lib.data import Layout
from amaranth.lib.wiring import In, Out


class RegisterSlice(wiring.Component):
    """Cuts every path between ``i`` and ``o``, forward and backward; one item per cycle, one cycle of latency.

    It holds two items: the one on ``o``, and the one that arrived in the cycle in which ``o`` was refused.
    """

    def __init__(self, layout: Layout) -> None:
        self.layout = layout
        super().__init__({"i": In(stream.Signature(layout)), "o": Out(stream.Signature(layout))})

    def elaborate(self, platform: Any) -> Module:
        m = Module()
        spare = Signal(self.layout)
        spare_valid = Signal()
        m.d.comb += self.i.ready.eq(~spare_valid)
        with m.If(~self.o.valid | self.o.ready):
            m.d.sync += self.o.valid.eq(spare_valid | self.i.valid)
            m.d.sync += spare_valid.eq(0)
            with m.If(spare_valid):
                m.d.sync += self.o.payload.eq(spare)
            with m.Else():
                m.d.sync += self.o.payload.eq(self.i.payload)
        with m.Elif(self.i.valid & self.i.ready):
            m.d.sync += [spare.eq(self.i.payload), spare_valid.eq(1)]
        return m
