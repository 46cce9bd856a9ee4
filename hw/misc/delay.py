"""Values on their way beside a pipeline that never stands still."""

from __future__ import annotations

from amaranth import Module, Signal, Value


class Delay:
    """A value and what it was one, two, ... cycles ago: registers are made as far as they are asked for."""

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
