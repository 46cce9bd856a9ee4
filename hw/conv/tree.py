"""Sums many numbers with a tree of adders that has a register after every level of four operands."""

from __future__ import annotations

from amaranth import Module, Signal, Value

from isa.latency import TREE_RADIX


def add_tree(m: Module, terms: list[Value], name: str, *, one_more: bool = False) -> Value:
    """The sum of the terms, ``tree_stages`` cycles later.

    With ``one_more`` each term is less by one, and so is the sum. This costs nothing, for adders have a carry to spare.
    """
    level = 0
    while len(terms) > 1:
        groups = [terms[i : i + TREE_RADIX] for i in range(0, len(terms), TREE_RADIX)]
        terms = [register(m, _balanced(group, one_more), f"{name}_{level}_{n}") for n, group in enumerate(groups)]
        level += 1
    return terms[0]


def register(m: Module, value: Value, name: str) -> Signal:
    """The value one cycle later, in a register without a reset."""
    found = Signal(value.shape(), name=name, reset_less=True)
    m.d.sync += found.eq(value)
    return found


def _balanced(terms: list[Value], one_more: bool) -> Value:
    while len(terms) > 1:
        pairs = [terms[i : i + 2] for i in range(0, len(terms), 2)]
        terms = [_added(pair[0], pair[1], one_more) if len(pair) == 2 else pair[0] for pair in pairs]
    return terms[0]


def _added(a: Value, b: Value, one_more: bool) -> Value:
    return a - ~b if one_more else a + b
