"""Point-wise fusion: a function of one map becomes the end of the operation that makes the map."""

from __future__ import annotations

from dataclasses import replace

from compiler.passes.finish import Finishing, followed_by, function_of, is_pass
from compiler.passes.rewrite import sole_reader
from compiler.xgraph.graph import XGraph
from compiler.xgraph.ops import Conv, ConvTranspose, Eltwise, Op, Pool


def fold_pointwise(graph: XGraph) -> XGraph:
    """Activations, requantisations and clamps move into the finish of the operation before them."""
    ops: dict[str, Op] = {}
    renamed: dict[str, str] = {}
    for op in graph.ops:
        source = renamed.get(op.inputs[0], op.inputs[0]) if op.inputs else ""
        producer = ops.get(source)
        if is_pass(op) and isinstance(producer, Conv | ConvTranspose | Pool | Eltwise) and sole_reader(graph, op.inputs[0], op):
            assert isinstance(op, Eltwise)
            made: Finishing = producer
            del ops[source]
            ops[op.output] = replace(made, outputs=op.outputs, finish=followed_by(made.finish, function_of(op)))
            renamed[op.output] = op.output
        else:
            ops[op.outputs[0] if op.outputs else op.name] = op
    return graph.with_ops(ops.values())
