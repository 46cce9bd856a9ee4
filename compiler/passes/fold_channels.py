"""Channels that are only put in another order are made in that order."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from compiler.passes.rewrite import sole_reader
from compiler.xgraph.graph import XGraph
from compiler.xgraph.ops import Conv, Op, Requantisation

_UNIT = 1 << 23


def fold_channels(graph: XGraph) -> XGraph:
    """A channel order (a 1x1 convolution by ones) moves into the convolution before it."""
    ops: dict[str, Op] = {}
    for op in graph.ops:
        producer = ops.get(op.inputs[0]) if op.inputs else None
        order = channel_order(op)
        if order is not None and isinstance(producer, Conv) and sole_reader(graph, op.inputs[0], op):
            del ops[op.inputs[0]]
            ops[op.output] = replace(_reordered(producer, order), outputs=op.outputs)
        else:
            ops[op.outputs[0] if op.outputs else op.name] = op
    return graph.with_ops(ops.values())


def channel_order(op: Op) -> NDArray[np.intp] | None:
    """For each output channel the input channel that it copies, if that is all the operation does."""
    if (
        not isinstance(op, Conv)
        or op.groups != 1
        or op.weight_zp
        or op.window.kernel != (1, 1)
        or op.window.stride != (1, 1)
        or any(op.window.pads)
    ):
        return None
    weights, q, finish = op.weights[:, 0, 0], op.requantisation, op.finish
    plain = finish.table is None and (finish.zero_point, finish.lo, finish.hi) == (0, -128, 127)
    unit = (q.mantissa == _UNIT).all() and (q.shift == 23).all() and not q.bias.any()
    if not (plain and unit and ((weights == 1).sum(axis=1) == 1).all() and np.count_nonzero(weights) == len(weights)):
        return None
    order: NDArray[np.intp] = weights.argmax(axis=1)
    return order


def _reordered(op: Conv, order: NDArray[np.intp]) -> Conv:
    """Outputs in another order; groups that are torn apart become a dense convolution."""
    groups, outputs, inputs = op.groups, len(op.weights) // op.groups, op.weights.shape[3]
    dense = np.full((*op.weights.shape[:3], groups * inputs), op.weight_zp, np.int8)
    for g in range(groups):
        rows = slice(g * outputs, (g + 1) * outputs)
        dense[rows, :, :, g * inputs : (g + 1) * inputs] = op.weights[rows]
    q = op.requantisation
    requantisation = Requantisation(q.bias[order], q.mantissa[order], q.shift[order])
    return replace(op, weights=np.ascontiguousarray(dense[order]), requantisation=requantisation, groups=1)
