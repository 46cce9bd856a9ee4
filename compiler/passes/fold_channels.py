"""Folds operations that only select channels, or put them in another order, into their neighbours."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from compiler.passes.rewrite import sole_reader
from compiler.xgraph.graph import XGraph
from compiler.xgraph.ops import Conv, Op, Requantisation, Slice

_UNIT = 1 << 23


def fold_channels(graph: XGraph) -> XGraph:
    """Moves each channel order into the convolution before it, or into the dense 1x1 convolution after it."""
    ops: dict[str, Op] = {}
    for op in graph.ops:
        producer = ops.get(op.inputs[0]) if op.inputs else None
        alone = isinstance(producer, Conv) and sole_reader(graph, op.inputs[0], op)
        folded = _folded(graph, producer, op) if alone and isinstance(producer, Conv) else None
        if folded is not None:
            del ops[op.inputs[0]]
        ops[op.outputs[0] if op.outputs else op.name] = folded or op
    return graph.with_ops(ops.values())


def _folded(graph: XGraph, producer: Conv, op: Op) -> Conv | None:
    """One convolution in place of both. None: they cannot be folded."""
    order = channel_order(op)
    if order is None and producer.groups == 1:
        order = _sliced(graph, op)
    if order is not None:
        return replace(_reordered(producer, order), outputs=op.outputs)
    return _read(op, producer) if isinstance(op, Conv) else None


def channel_order(op: Op) -> NDArray[np.intp] | None:
    """For each output channel, the input channel that it copies. None: the operation does more than that."""
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


def _sliced(graph: XGraph, op: Op) -> NDArray[np.intp] | None:
    """The channels that a slice keeps. None: it does not keep all rows and columns."""
    if not isinstance(op, Slice):
        return None
    before, after = graph.tensors[op.inputs[0]].shape, graph.tensors[op.output].shape
    return np.arange(op.begin[2], op.begin[2] + after[3]) if before[:3] == after[:3] else None


def _read(op: Conv, producer: Conv) -> Conv | None:
    """The convolution ``op`` on the input of the channel order. A channel that is not selected has no weight.

    None: it is no such pair, or the result would multiply more often than the two do.
    """
    order = channel_order(producer)
    if order is None or op.groups != 1 or op.window.kernel != (1, 1) or len(set(order)) < len(order):
        return None
    there = producer.weights.shape[3]
    if (there - len(order)) * len(op.weights) > there * len(order):
        return None
    weights = np.full((*op.weights.shape[:3], there), op.weight_zp, np.int8)
    weights[..., order] = op.weights
    return replace(op, inputs=producer.inputs, weights=weights)


def _reordered(op: Conv, order: NDArray[np.intp]) -> Conv:
    """The convolution as a dense one, with its outputs in this order."""
    groups, outputs, inputs = op.groups, len(op.weights) // op.groups, op.weights.shape[3]
    dense = np.full((*op.weights.shape[:3], groups * inputs), op.weight_zp, np.int8)
    for g in range(groups):
        rows = slice(g * outputs, (g + 1) * outputs)
        dense[rows, :, :, g * inputs : (g + 1) * inputs] = op.weights[rows]
    q = op.requantisation
    requantisation = Requantisation(q.bias[order], q.mantissa[order], q.shift[order])
    return replace(op, weights=np.ascontiguousarray(dense[order]), requantisation=requantisation, groups=1)
