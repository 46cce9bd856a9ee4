"""Sums of many numbers: a tree of adders with a register after every level of four operands."""

from __future__ import annotations

from amaranth import Module, Signal, Value

RADIX = 4
"""Operands that one register stage of the tree adds."""


def tree_stages(terms: int) -> int:
    """Register stages of a tree over so many operands."""
    stages = 0
    while terms > 1:
        terms = -(-terms // RADIX)
        stages += 1
    return stages


def add_tree(m: Module, terms: list[Value], name: str) -> Value:
    """The sum of the terms, ``tree_stages`` cycles later."""
    level = 0
    while len(terms) > 1:
        terms = add_stage(m, terms, f"{name}_{level}")
        level += 1
    return terms[0]


def add_stage(m: Module, terms: list[Value], name: str) -> list[Value]:
    """One register stage of the tree."""
    groups = [terms[i : i + RADIX] for i in range(0, len(terms), RADIX)]
    return [register(m, _balanced(group), f"{name}_{n}") for n, group in enumerate(groups)]


def register(m: Module, value: Value, name: str) -> Signal:
    """The value one cycle later; without a reset."""
    found = Signal(value.shape(), name=name, reset_less=True)
    m.d.sync += found.eq(value)
    return found


def _balanced(terms: list[Value]) -> Value:
    while len(terms) > 1:
        terms = [sum(terms[i + 1 : i + 2], terms[i]) for i in range(0, len(terms), 2)]
    return terms[0]
