"""The step at POOL's input: the words of its taps, and how many of them count."""

from __future__ import annotations

from typing import Any

from amaranth import Const, Module, Mux, Signal, Value, signed

from hw.copies import Spread
from isa.config import MachineConfig


class Step:
    """The input of ``WindowReduce`` in a cycle in which it takes something. ``take`` implies ``move``. Registers of many bits
    follow the copies of these, ``takes`` and ``moves``."""

    def __init__(self, config: MachineConfig, operand: Any, settings: Any, takes: Spread, moves: Spread) -> None:
        self._config = config
        self.operand, self.settings = operand, settings
        self.takes, self.moves = takes, moves
        self.take, self.move = takes.signal, moves.signal

    @property
    def count(self) -> Value:
        """The number of its taps."""
        return self.operand.count if self._config.pool_taps > 1 else Const(1)

    def word(self, p: int, j: int) -> tuple[Value, Value]:
        """The word of tap ``j`` of pixel ``p``, and whether it is not padding; see ``PoolWindow``. If taps are not side by side
        the second one is ``apart``, where there are words enough for one."""
        operand, lanes = self.operand, self._config.px_p
        apart = p + j * lanes
        if j != 1 or lanes == 1 or self._config.pool_taps <= lanes or apart >= lanes + self._config.pool_taps - 1:
            return operand.data[p + j], operand.counted[p + j]
        return (
            Mux(operand.side_by_side, operand.data[p + j], operand.data[apart]),
            Mux(operand.side_by_side, operand.counted[p + j], operand.counted[apart]),
        )

    def bytes(self, m: Module, p: int, j: int, enables: Spread) -> list[Signal]:
        """Registers with the bytes of a tap, taken at ``enables``. They are zero where the tap does not count, and where there
        is no step."""
        word, counted = self.word(p, j)
        enable = enables.of(len(word))
        clear = Signal(name=f"clear_{p}_{j}")
        m.d.comb += clear.eq(enable & ~(self.take & (counted | ~self.settings.by_count) & (self.count > j)))
        x = [Signal(signed(8), name=f"x_{p}_{j}_{n}", reset_less=True) for n in range(self._config.ic_p)]
        with m.If(enable):
            m.d.sync += [byte.eq(word[8 * n : 8 * n + 8]) for n, byte in enumerate(x)]
        with m.If(clear):
            m.d.sync += [byte.eq(0) for byte in x]
        return x


def late(m: Module, moves: Spread, value: Value, cycles: int, name: str) -> Value:
    """The value as it was ``cycles`` ago, without the cycles in which nothing moved."""
    for cycle in range(cycles):
        later = Signal(value.shape(), name=f"{name}_later_{cycle}", reset_less=True)
        with m.If(moves.of(len(value))):
            m.d.sync += later.eq(value)
        value = later
    return value
