"""Trees of registers over the lanes of a slice."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from amaranth import Module, Signal, Value


def tree(m: Module, values: Sequence[Value], combine: Callable[[Value, Value], Value], name: str) -> Value:
    """All values combined in pairs, with a register for each stage: the result comes ``ceil_log2`` of their number later."""
    level = list(values)
    stage = 0
    while len(level) > 1:
        stage += 1
        after: list[Value] = []
        for pair in range(0, len(level), 2):
            found = combine(*level[pair : pair + 2]) if pair + 1 < len(level) else level[pair]
            register = Signal(found.shape(), name=f"{name}{stage}_{pair // 2}", reset_less=True)
            m.d.sync += register.eq(found)
            after.append(register)
        level = after
    return level[0]
