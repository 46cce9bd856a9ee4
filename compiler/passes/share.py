"""Lets readers of equal views of one map share one view."""

from __future__ import annotations

from compiler.passes.rewrite import with_inputs
from compiler.xgraph.graph import XGraph
from compiler.xgraph.ops import Cpu, Op, Reshape, Slice, Upsample, attributes


def share_equal(graph: XGraph) -> XGraph:
    """Makes one operation of equal slices, reshapes or upsamples of one map."""
    known: dict[tuple[object, ...], str] = {}
    renamed: dict[str, str] = {}
    ops: list[Op] = []
    for op in graph.ops:
        moved = with_inputs(op, renamed)
        if isinstance(op, Slice | Reshape | Upsample) and not _named(graph, op.output):
            shape = graph.tensors[op.output].shape
            key = (type(op).__name__, moved.inputs, shape, tuple(sorted(attributes(op).items())))
            if key in known:
                renamed[op.output] = known[key]
                continue
            known[key] = op.output
        ops.append(moved)
    return graph.with_ops(ops)


def _named(graph: XGraph, tensor: str) -> bool:
    return tensor in graph.outputs or any(isinstance(reader, Cpu) for reader in graph.consumers(tensor))
