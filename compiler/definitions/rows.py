"""Softmax and normalisation over the last axis: the arithmetic of ``isa/rows.py``, for onnxruntime to run.

A model calls them as nodes of the domain ``tilewright``, and brings the functions with it.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

import onnx

from compiler.definitions.integer_graph import IntegerGraph
from isa.rows import (
    B_SHIFT,
    D_BITS,
    D_FRACTION,
    F_STEP,
    MOST_F,
    MOST_QUOTIENT,
    P_SHIFT,
    Q_POINT,
    R_BITS,
    SHIFTS,
    T_SHIFT,
    U_SHIFT,
)

SOFTMAX, NORMALISATION = "Softmax", "LayerNormalization"
INPUTS = {
    SOFTMAX: ("x", "e", "t", "zero_point", "low", "high"),
    NORMALISATION: ("x", "x_zero_point", "k", "g", "b", "divisor", "centred", "zero_point", "low", "high"),
}
"""``x`` has eight bits, all others are int64: ``e`` and ``t`` as ``isa.rows.exponentials`` makes them, ``g`` and ``b`` as
``isa.rows.factors``, ``k`` as ``isa.rows.below_root``; ``divisor`` is ``2^F``, ``centred`` 0 for RMS and else 1."""

TABLES = ("e", "t", "g", "b")
"""The inputs that are lists. All others but ``x`` are single numbers."""
DIVISORS = tuple(1 << MOST_F - F_STEP * shift for shift in range(SHIFTS))
"""The divisor for each shift."""


def definition(name: str, opset: int) -> onnx.FunctionProto:
    """The function for models of this operator set of ONNX."""
    return _DEFINITIONS[name](opset)


@cache
def _softmax(opset: int) -> onnx.FunctionProto:
    graph = IntegerGraph(opset)
    x = graph.whole("x")
    index = graph("Add", graph("Sub", x, graph.over_row("ReduceMax", x)), 255)
    total = graph.over_row("ReduceSum", graph("Gather", "e", index))
    numerator = graph("Mul", graph("Gather", "t", index), 1 << T_SHIFT)
    quotient = graph.nearest(graph("Div", numerator, total), graph("Mod", numerator, total), total)
    return graph.function(SOFTMAX, INPUTS[SOFTMAX], graph.saturated(graph.least(quotient, MOST_QUOTIENT)))


@cache
def _normalisation(opset: int) -> onnx.FunctionProto:
    graph = IntegerGraph(opset)
    x = graph("Sub", graph.whole("x"), "x_zero_point")
    length = graph("Size", "g")
    total = graph.over_row("ReduceSum", graph("Mul", x, "centred"))
    squares = graph("Mul", graph.over_row("ReduceSum", graph("Mul", x, x)), length)
    d = graph("Add", graph("Mul", graph("Sub", squares, graph("Mul", total, total)), 1 << D_FRACTION), "k")
    fours = graph.constant([1 << 2 * n for n in range(1, D_BITS // 2)])
    e = graph.over_row("ReduceSum", graph.whole(graph("Less", d, fours)))
    powers = range(D_BITS // 2)
    root = _root(graph, graph("Mul", d, graph("Gather", graph.constant([1 << 2 * n for n in powers]), e)))
    q = graph("Div", 1 << Q_POINT, root)
    divisor = graph("Gather", graph.constant([1 << max(P_SHIFT - n, 0) for n in powers]), e)
    p = graph("Div", graph("Mul", q, length), divisor)
    mean = graph.floor(graph("Mul", total, q), divisor, 60)
    u = graph.floor(graph("Sub", graph("Mul", x, p), mean), 1 << U_SHIFT, 60)
    exact = graph("Add", graph("Mul", u, "g"), graph("Mul", "b", 1 << B_SHIFT))
    y = graph.floor(exact, "divisor", 62)
    nearest = graph.nearest(y, graph("Sub", exact, graph("Mul", y, "divisor")), "divisor")
    return graph.function(NORMALISATION, INPUTS[NORMALISATION], graph.saturated(nearest))


def _root(graph: IntegerGraph, d: str) -> str:
    """The greatest number whose square is not above ``d``, found bit by bit."""
    root = graph("Mul", d, 0)
    for bit in reversed(range(R_BITS)):
        more = graph("Add", root, 1 << bit)
        above = graph("Greater", graph("Mul", more, more), d)
        root = graph("Where", above, root, more)
    return root


_DEFINITIONS: dict[str, Callable[[int], onnx.FunctionProto]] = {SOFTMAX: _softmax, NORMALISATION: _normalisation}
