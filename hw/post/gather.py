"""Joins the finished parts of a vector."""

from __future__ import annotations

from typing import Any

from amaranth import Cat, Module, Signal
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from hw.post.activation import vectors


class Gather(wiring.Component):
    """Makes one vector of every ``parts`` vectors of ``lanes`` results, the first in the lowest lanes. A result has 8 or more
    ``bits``.

    There is no latency: the whole is valid with its last part, whose results it shows unregistered. It never stalls, and its
    output cannot be refused.
    """

    def __init__(self, lanes: int, parts: int, bits: int = 8) -> None:
        self.lanes = lanes
        self.parts = parts
        self.bits = bits
        super().__init__({
            "i": In(vectors(data.ArrayLayout(bits, lanes))),
            "o": Out(vectors(data.ArrayLayout(bits, lanes * parts))),
        })

    def elaborate(self, platform: Any) -> Module:
        m = Module()
        count = Signal(range(max(2, self.parts)))
        last = Signal()
        m.d.comb += [last.eq(count == self.parts - 1), self.o.valid.eq(self.i.valid & last)]
        with m.If(self.i.valid):
            m.d.sync += count.eq(count + 1)
            with m.If(last):
                m.d.sync += count.eq(0)
        held = []
        for part in range(self.parts - 1):
            register = Signal(self.bits * self.lanes, name=f"part_{part}", reset_less=True)
            with m.If(self.i.valid & (count == part)):
                m.d.sync += register.eq(self.i.p)
            held.append(register)
        m.d.comb += self.o.p.eq(Cat(*held, self.i.p))
        return m
