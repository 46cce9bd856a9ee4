"""Copies of signals that drive more pins than a chip carries across in a cycle."""

from __future__ import annotations

from amaranth import Module, Signal, Value
from amaranth.hdl import ValueLike
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


class Spread:
    """A signal and, where it has many loads, copies of it: none drives many more than ``PINS`` pins.

    ``of`` hands out the signal itself until its pins are used up, and then a copy. All are made by the same logic in the same
    cycle, in ``domain``; a copy has a module of its own, for the reason that ``Copy`` has one.
    """

    def __init__(self, m: Module, signal: Signal, logic: ValueLike, domain: str = "comb", *, elsewhere: int = 0) -> None:
        """Drives ``signal`` by ``logic``, which reads other signals. ``elsewhere``: pins of it that nobody asks for here."""
        self.signal = signal
        self._m, self._logic, self._domain = m, logic, domain
        self._newest, self._count = signal, 0
        self._room = PINS - elsewhere
        m.d[domain] += signal.eq(logic)

    def of(self, pins: int) -> Signal:
        """The one that is to drive so many more pins."""
        if self._room < min(pins, PINS):
            self._newest, self._room = self._copy(), PINS
        self._room -= pins
        return self._newest

    def enable(self, register: ValueLike, value: ValueLike) -> None:
        """``register`` becomes ``value`` when the signal is high: by several copies, if it is long."""
        register, value = Value.cast(register), Value.cast(value)
        for first in range(0, len(register), PINS):
            part = slice(first, min(first + PINS, len(register)))
            with self._m.If(self.of(part.stop - part.start)):
                self._m.d.sync += register[part].eq(value[part])

    def _copy(self) -> Signal:
        self._count += 1
        self._m.submodules[f"{self.signal.name}_{self._count}"] = alone = Module()
        copy = Signal.like(self.signal, name=f"{self.signal.name}_copy", attrs={"keep": "true"})
        alone.d[self._domain] += copy.eq(self._logic)
        return copy
