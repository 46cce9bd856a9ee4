"""Values that travel beside a pipeline that never stands still."""

from __future__ import annotations

from amaranth import Module, Signal, Value

from hw.copies import Spread


class Delay:
    """A value, and what it was one, two, ... cycles ago. Registers are made only as far as they are asked for."""

    def __init__(self, m: Module, value: Value, name: str) -> None:
        self._m = m
        self._name = name
        self._ages = [value]

    def __call__(self, cycles: int) -> Value:
        while len(self._ages) <= cycles:
            newest = self._ages[-1]
            register = Signal(newest.shape(), name=f"{self._name}_{len(self._ages)}", reset_less=True)
            self._m.d.sync += register.eq(newest)
            self._ages.append(register)
        return self._ages[cycles]


class Goes:
    """Tells whether there is a value so many cycles later. Each cycle has as many registers as its pins need."""

    def __init__(self, m: Module, valid: Value, name: str) -> None:
        self._m = m
        self._name = name
        self._valid = valid
        self._later: list[Spread] = []

    def __call__(self, cycles: int, pins: int) -> Value:
        """The signal for that cycle, to drive ``pins`` more pins."""
        while len(self._later) < cycles:
            before = self._later[-1].signal if self._later else self._valid
            register = Signal(name=f"{self._name}_{len(self._later) + 1}", reset_less=True)
            self._later.append(Spread(self._m, register, before, "sync"))
        return self._later[cycles - 1].of(pins) if cycles else self._valid
