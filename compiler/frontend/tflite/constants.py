"""Folds operators whose result the file has: weights in float16, int8 or sparse form become float and dense."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from compiler.frontend.tflite.file import Array, Graph, Operator, Tensor


def folded(graph: Graph) -> Graph:
    """The graph with such results as constants, without the operators."""
    tensors = list(graph.tensors)
    kept = []
    for operator in graph.operators:
        value = None if set(operator.outputs) & set(graph.outputs) else _value(tensors, operator)
        if value is None:
            kept.append(operator)
        else:
            number = operator.outputs[0]
            tensors[number] = replace(tensors[number], data=value.reshape(tensors[number].shape))
    return replace(graph, tensors=tuple(tensors), operators=tuple(kept))


def _value(tensors: Sequence[Tensor], operator: Operator) -> Array | None:
    if operator.kind not in ("DEQUANTIZE", "DENSIFY"):
        return None
    x, y = tensors[operator.inputs[0]], tensors[operator.outputs[0]]
    if x.data is None:
        return None
    if operator.kind == "DENSIFY" or not x.quantised:
        return x.data.astype(y.dtype)
    along = [1] * x.data.ndim
    if x.scale.size > 1:
        along[x.axis] = -1
    return ((x.data - x.zero_point.reshape(along)).astype(np.float32) * x.scale.reshape(along)).astype(y.dtype)
