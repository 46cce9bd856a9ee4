"""Multiply-accumulates of each node, from the quantised model that a program carries."""

from __future__ import annotations

import math

import onnx

from isa.program import Program
from tilewright.profile.shapes import Shapes, model_of, shapes_of

WEIGHTS = {
    "Conv": 1, "ConvTranspose": 1, "Gemm": 1, "MatMul": 1, "QLinearConv": 3, "QLinearMatMul": 3, "QGemm": 3,
    "ConvInteger": 1, "MatMulInteger": 1,
}  # fmt: skip
"""Operators that multiply and accumulate, and which input holds their weights."""
RECURRENT = ("LSTM", "GRU", "RNN")
"""Which multiply their input and their state by weights (inputs 1 and 2) at each step of a sequence."""


def macs_of_nodes(program: Program) -> dict[str, int]:
    """By node name; empty for a program without a model. Nodes whose shapes only real data tells are left out."""
    model = model_of(program)
    if model is None:
        return {}
    nodes = [node for node in model.graph.node if node.op_type in WEIGHTS or node.op_type in RECURRENT]
    reads = {node.name: _sized(node) for node in nodes}
    shapes = shapes_of(program, model, (name for names in reads.values() for name in names))
    return {node.name: _of_node(node, shapes) for node in nodes if all(name in shapes for name in reads[node.name])}


def _sized(node: onnx.NodeProto) -> tuple[str, ...]:
    """The tensors whose shapes say how many."""
    if node.op_type in RECURRENT:
        return tuple(node.input[:3])
    return node.output[0], node.input[0], node.input[WEIGHTS[node.op_type]]


def _of_node(node: onnx.NodeProto, shapes: Shapes) -> int:
    if node.op_type in RECURRENT:
        sequence, batch = shapes[node.input[0]][:2]
        return sequence * batch * sum(math.prod(shapes[name]) for name in node.input[1:3])
    weights = shapes[node.input[WEIGHTS[node.op_type]]]
    if node.op_type in ("Conv", "QLinearConv", "ConvInteger"):
        return math.prod(shapes[node.output[0]]) * math.prod(weights[1:])
    if node.op_type == "ConvTranspose":
        return math.prod(shapes[node.input[0]]) * math.prod(weights[1:])
    inner = shapes[node.input[0]]
    transposed = any(attribute.name == "transA" and attribute.i for attribute in node.attribute)
    return math.prod(shapes[node.output[0]]) * inner[0 if transposed else -1]
