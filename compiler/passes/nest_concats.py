"""Lets a concat that begins with the parts of another concat contain that one instead. Then every part lies in one place."""

from __future__ import annotations

from dataclasses import replace

from compiler.xgraph.graph import XGraph
from compiler.xgraph.ops import Concat, Op


def nest_concats(graph: XGraph) -> XGraph:
    """Lets each concat that repeats all parts of an earlier one and adds more (DenseNet) join the earlier map and the rest."""
    known: dict[tuple[int, tuple[str, ...]], str] = {}
    ops: list[Op] = []
    for op in graph.ops:
        if not isinstance(op, Concat):
            ops.append(op)
            continue
        inside = _longest(graph, known, op)
        known.setdefault((op.axis, op.inputs), op.output)
        ops.append(op if inside is None else replace(op, inputs=(inside[1], *op.inputs[inside[0] :])))
    return graph.with_ops(ops)


def _longest(graph: XGraph, known: dict[tuple[int, tuple[str, ...]], str], op: Concat) -> tuple[int, str] | None:
    """The most first parts that an earlier concat joins, and its result. None: there is none whose bytes mean the same."""
    target = graph.tensors[op.output]
    for count in range(len(op.inputs) - 1, 1, -1):
        name = known.get((op.axis, op.inputs[:count]))
        if name is not None and name not in graph.outputs:
            inner = graph.tensors[name]
            if (inner.quantisation, inner.flip) == (target.quantisation, target.flip):
                return count, name
    return None
