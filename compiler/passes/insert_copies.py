"""Inserts copies where a view cannot serve: for maps that several others contain, or whose place is fixed."""

from __future__ import annotations

from dataclasses import replace

from compiler.memory.storage import needs_copy
from compiler.xgraph.graph import XGraph
from compiler.xgraph.ops import Eltwise, EltwiseKind, Finish, Op


def insert_copies(graph: XGraph) -> XGraph:
    """Inserts an element-wise copy before each input that ``needs_copy`` names."""
    while True:
        wanted: dict[str, set[int]] = {}
        for op, index in needs_copy(graph):
            wanted.setdefault(op.name, set()).add(index)
        if not wanted:
            return graph
        graph = _copied(graph, wanted)


def _copied(graph: XGraph, wanted: dict[str, set[int]]) -> XGraph:
    tensors = dict(graph.tensors)
    taken = {op.name for op in graph.ops}
    ops: list[Op] = []
    for op in graph.ops:
        inputs = list(op.inputs)
        for index in sorted(wanted.get(op.name, ())):
            source = inputs[index]
            name = f"{source}/copy"
            while name in tensors or name in taken:
                name += "'"
            taken.add(name)
            tensors[name] = replace(tensors[source], name=name)
            ops.append(Eltwise(name, (source,), (name,), EltwiseKind.PASS, 1, 0, 0, 0, Finish()))
            inputs[index] = name
        ops.append(replace(op, inputs=tuple(inputs)) if op.name in wanted else op)
    return graph.with_ops(ops, tensors)
