"""Counts the multiply-accumulates of a model's convolutions, dense layers and products of two activations."""

from __future__ import annotations

import math

from onnx import ModelProto, NodeProto

Shapes = dict[str, tuple[int, ...]]


def multiply_accumulates(model: ModelProto) -> int:
    """The multiply-accumulates of one inference over the whole batch.

    The model must have the shape of every tensor (``value_info``).
    """
    return sum(by_node(model).values())


def by_node(model: ModelProto) -> dict[str, int]:
    """The multiply-accumulates of each node, by its name."""
    shapes: Shapes = {tensor.name: tuple(tensor.dims) for tensor in model.graph.initializer}
    for info in (*model.graph.input, *model.graph.value_info, *model.graph.output):
        shapes[info.name] = tuple(dimension.dim_value for dimension in info.type.tensor_type.shape.dim)
    return {node.name: _of_node(node, shapes) for node in model.graph.node}


def _of_node(node: NodeProto, shapes: Shapes) -> int:
    if node.op_type == "Conv":
        return math.prod(shapes[node.output[0]]) * math.prod(shapes[node.input[1]][1:])
    if node.op_type == "ConvTranspose":
        return math.prod(shapes[node.input[0]]) * math.prod(shapes[node.input[1]][1:])
    if node.op_type in ("Gemm", "MatMul"):
        transposed = any(attribute.name == "transA" and attribute.i for attribute in node.attribute)
        return math.prod(shapes[node.output[0]]) * shapes[node.input[0]][0 if transposed else -1]
    return 0
