"""Removes operations that change nothing."""

from __future__ import annotations

from compiler.passes.rewrite import with_inputs
from compiler.xgraph.functions import VALUES, function_of, is_pass
from compiler.xgraph.graph import XGraph
from compiler.xgraph.ops import Concat, Cpu, Eltwise, Interleave, Op, Reshape, Slice

VIEWS = (Concat, Slice, Interleave, Reshape)
"""Operations that show bytes of a map under another name. Both maps are int8, or both are uint8."""


def remove_identities(graph: XGraph) -> XGraph:
    """Removes copies and reshapes to the same shape. Their readers read the original.

    On chip all maps are int8: LOAD converts a uint8 input.
    """
    renamed: dict[str, str] = {}
    ops: list[Op] = []
    for op in graph.ops:
        moved = with_inputs(op, renamed)
        if _is_identity(graph, op):
            renamed[op.output] = moved.inputs[0]
        else:
            ops.append(moved)
    return graph.with_ops(ops)


def _is_identity(graph: XGraph, op: Op) -> bool:
    if len(op.inputs) != 1 or isinstance(op, Cpu):
        return False
    source, target = graph.tensors[op.inputs[0]], graph.tensors[op.output]
    named = op.output in graph.outputs or any(isinstance(reader, Cpu) for reader in graph.consumers(op.output))
    if named or (source.shape, source.quantisation) != (target.shape, target.quantisation):
        return False
    if source.flip != target.flip and any(isinstance(reader, VIEWS) for reader in graph.consumers(op.output)):
        return False
    if isinstance(op, Reshape):
        return True
    return is_pass(op) and isinstance(op, Eltwise) and bool((function_of(op) == VALUES).all())
