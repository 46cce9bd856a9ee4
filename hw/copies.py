"""Copies of signals that drive more pins than a chip carries across in a cycle."""

from __future__ import annotations

from amaranth import Module, Signal, Value
from amaranth.hdl import ValueLike
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

PINS = 200
"""The pins that a copy is to drive. It drives a few more in the end, for some logic before its registers counts too."""


class Copy(wiring.Component):
    """``o`` is ``i`` a cycle later.

    It is a module of its own, because synthesis merges registers of one module that hold the same value. Tools that flatten the
    design are asked to keep the register.
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
    """A signal and, where it has many loads, copies of it. None of them drives many more than ``PINS`` pins.

    ``of`` hands out the signal itself until its pins are used up, and then a copy. The same logic makes all of them in the same
    cycle, in ``domain``. A copy has a module of its own, for the same reason as ``Copy``.
    """

    def __init__(self, m: Module, signal: Signal, logic: ValueLike, domain: str = "comb", *, elsewhere: int = 0) -> None:
        """Drives ``signal`` by ``logic``, which reads other signals. ``elsewhere`` is the number of pins of it that are not
        asked for here."""
        self.signal = signal
        self._m, self._logic, self._domain = m, logic, domain
        self._newest, self._count = signal, 0
        self._room = PINS - elsewhere
        m.d[domain] += signal.eq(logic)

    def of(self, pins: int) -> Signal:
        """The signal or the copy that is to drive ``pins`` more pins."""
        if self._room < min(pins, PINS):
            self._newest, self._room = self._copy(), PINS
        self._room -= pins
        return self._newest

    def enable(self, register: ValueLike, value: ValueLike) -> None:
        """Sets ``register`` to ``value`` when the signal is high. Several copies enable a long register."""
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
