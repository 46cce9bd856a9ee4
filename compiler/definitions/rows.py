"""Softmax and normalisation over the last axis: the arithmetic of ``isa/rows.py``, for onnxruntime to run."""

from __future__ import annotations

import onnx
from onnx import TensorProto

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
    T_SHIFT,
    U_SHIFT,
    Ints,
)


def softmax(length: int, e: Ints, t: Ints, zero_point: int) -> onnx.ModelProto:
    """Of int8 rows; ``e`` and ``t`` as ``isa.rows.exponentials`` makes them."""
    graph = IntegerGraph()
    index = graph("Add", graph("Sub", "wide", graph.over_row("ReduceMax", "wide")), 255)
    total = graph.over_row("ReduceSum", graph("Gather", graph.constant(e), index))
    numerator = graph("Gather", graph.constant(t << T_SHIFT), index)
    quotient = graph.nearest(graph("Div", numerator, total), graph("Mod", numerator, total), total)
    return graph.model(length, graph.int8(graph("Min", quotient, MOST_QUOTIENT), zero_point))


def normalisation(
    length: int, k: int, g: Ints, b: Ints, shift: int, *, rms: bool, input_zero_point: int, zero_point: int
) -> onnx.ModelProto:
    """Of int8 rows; ``k`` as ``isa.rows.below_root`` makes it, ``g``, ``b`` and ``shift`` as ``isa.rows.factors``."""
    graph = IntegerGraph()
    x = graph("Sub", "wide", input_zero_point)
    total = graph.over_row("ReduceSum", graph("Mul", x, 0) if rms else x)
    squares = graph("Mul", graph.over_row("ReduceSum", graph("Mul", x, x)), length)
    d = graph("Add", graph("Mul", graph("Sub", squares, graph("Mul", total, total)), 1 << D_FRACTION), k)
    fours = graph.constant([1 << 2 * n for n in range(1, D_BITS // 2)])
    e = graph.over_row("ReduceSum", graph("Cast", graph("Less", d, fours), to=TensorProto.INT64))
    powers = range(D_BITS // 2)
    root = _root(graph, graph("Mul", d, graph("Gather", graph.constant([1 << 2 * n for n in powers]), e)))
    q = graph("Div", 1 << Q_POINT, root)
    divisor = graph("Gather", graph.constant([1 << max(P_SHIFT - n, 0) for n in powers]), e)
    p = graph("Div", graph("Mul", q, length), divisor)
    mean = graph.floor(graph("Mul", total, q), divisor, 60)
    u = graph.floor(graph("Sub", graph("Mul", x, p), mean), 1 << U_SHIFT, 60)
    exact = graph("Add", graph("Mul", u, graph.constant(g)), graph.constant(b << B_SHIFT))
    point = 1 << MOST_F - F_STEP * shift
    y = graph.floor(exact, point, 62)
    return graph.model(length, graph.int8(graph.nearest(y, graph("Sub", exact, graph("Mul", y, point)), point), zero_point))


def _root(graph: IntegerGraph, d: str) -> str:
    """The greatest number whose square is not above, bit by bit."""
    root = graph("Mul", d, 0)
    for bit in reversed(range(R_BITS)):
        more = graph("Add", root, 1 << bit)
        fits = graph("LessOrEqual", graph("Mul", more, more), d)
        root = graph("Where", fits, more, root)
    return root
