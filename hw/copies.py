"""Copies of registers that drive more pins than a chip carries across in a cycle."""

from __future__ import annotations

from amaranth import Module, Signal, Value
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

PINS = 200
"""Pins that a copy is to drive. They are a few more in the end: logic before registers takes part."""


class Copy(wiring.Component):
    """``o`` is ``i`` a cycle later.

    A module of its own, for synthesis takes registers of one module that hold the same for one register; tools that flatten
    the design are asked to keep it.
    """

    def __init__(self, bits: int, *, reset_less: bool = False) -> None:
        self._bits, self._reset_less = bits, reset_less
        super().__init__({"i": In(bits), "o": Out(bits)})

    def elaborate(self, platform: object) -> Module:
        m = Module()
        held = Signal(self._bits, reset_less=self._reset_less, attrs={"keep": "true"})
        m.d.sync += held.eq(self.i)
        m.d.comb += self.o.eq(held)
        return m


def copies(m: Module, value: Value, count: int, name: str) -> list[Value]:
    """So many registers that all hold what ``value`` was a cycle ago."""
    made = []
    for number in range(count):
        m.submodules[f"{name}_{number}"] = copy = Copy(len(value))
        m.d.comb += copy.i.eq(value)
        made.append(copy.o)
    return made
