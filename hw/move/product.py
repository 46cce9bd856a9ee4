"""Computes the length of a row in bytes."""

from __future__ import annotations

from typing import Any

from amaranth import Module, Mux, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from hw.axi.burst import RUN_BYTES_BITS


class RowBytes(wiring.Component):
    """Makes ``pixels * run`` from two bits of ``pixels`` per cycle, without a multiplier. This is quick enough, because an
    instruction needs the product once.

    ``start`` takes the factors. ``ready`` is high when ``product`` is theirs, and until the next start. This takes half as many
    cycles as ``pixels`` has significant bits. Nothing stalls it.
    """

    def __init__(self) -> None:
        super().__init__({
            "start": In(1),
            "pixels": In(12),
            "run": In(16),
            "ready": Out(1),
            "product": Out(RUN_BYTES_BITS),
        })

    def elaborate(self, platform: Any) -> Module:
        m = Module()
        left = Signal(12)
        term = Signal(RUN_BYTES_BITS)
        m.d.comb += self.ready.eq(left == 0)
        with m.If(self.start):
            m.d.sync += [left.eq(self.pixels), term.eq(self.run), self.product.eq(0)]
        with m.Elif(~self.ready):
            m.d.sync += [
                self.product.eq(self.product + Mux(left[0], term, 0) + Mux(left[1], term << 1, 0)),
                left.eq(left >> 2),
                term.eq(term << 2),
            ]
        return m
