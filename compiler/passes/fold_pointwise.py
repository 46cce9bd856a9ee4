"""Point-wise fusion: moves a function of one map into the end of the operation that makes the map."""

from __future__ import annotations

from dataclasses import replace

from compiler.passes.finish import Finishing, followed_by
from compiler.passes.rewrite import sole_reader
from compiler.xgraph.functions import function_of, is_pass
from compiler.xgraph.graph import XGraph
from compiler.xgraph.ops import Eltwise, Op, Pool, PoolKind


def fold_pointwise(graph: XGraph) -> XGraph:
    """Moves activations, requantisations and clamps into the finish of the operation before them."""
    ops: dict[str, Op] = {}
    renamed: dict[str, str] = {}
    for op in graph.ops:
        source = renamed.get(op.inputs[0], op.inputs[0]) if op.inputs else ""
        producer = ops.get(source)
        if is_pass(op) and isinstance(producer, Finishing) and sole_reader(graph, op.inputs[0], op):
            assert isinstance(op, Eltwise)
            made: Finishing = producer
            del ops[source]
            finish = followed_by(made.finish, function_of(op))
            if _only_selects(made) and not _same_meaning(graph, made.inputs[0], op.output):
                finish = replace(finish, table=function_of(op)) if finish.table is None else finish
            ops[op.output] = replace(made, outputs=op.outputs, finish=finish)
            renamed[op.output] = op.output
        else:
            ops[op.outputs[0] if op.outputs else op.name] = op
    return graph.with_ops(ops.values())


def _only_selects(op: Op) -> bool:
    """Whether the operation hands bytes on as they are. Then only a table can say that the result means something else."""
    return isinstance(op, Pool) and op.kind is PoolKind.MAX


def _same_meaning(graph: XGraph, one: str, other: str) -> bool:
    a, b = graph.tensors[one], graph.tensors[other]
    return (a.quantisation, a.flip) == (b.quantisation, b.flip)
