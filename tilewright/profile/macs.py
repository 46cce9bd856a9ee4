"""The multiply-accumulates of one node, from the shapes of what it reads and makes."""

from __future__ import annotations

import math
from collections.abc import Iterator

import onnx

from compiler.definitions import long_maps
from compiler.definitions.integer_graph import DOMAIN
from tilewright.profile.shapes import Shapes

WEIGHTS = {
    "Conv": 1, "ConvTranspose": 1, "Gemm": 1, "MatMul": 1, "QLinearConv": 3, "QLinearMatMul": 3, "QGemm": 3,
    "ConvInteger": 1, "MatMulInteger": 1, "FusedMatMul": 1, "FusedConv": 1, "FusedGemm": 1,
    "MatMulNBits": 1,
}  # fmt: skip
"""The operators that multiply and accumulate, each with the input that is its second operand: weights, or another
activation."""
RECURRENT = ("LSTM", "GRU", "RNN")
"""The operators that multiply their input and their state by weights (inputs 1 and 2) at each step of a sequence."""
CONVOLUTIONS = ("Conv", "QLinearConv", "ConvInteger", "FusedConv")


def sized(node: onnx.NodeProto) -> tuple[str, ...]:
    """The tensors whose shapes are needed to count a node's products."""
    if node.op_type in RECURRENT:
        return tuple(node.input[:3])
    if node.domain == DOMAIN and node.op_type in long_maps.CONVOLUTIONS:
        return node.output[0], _long_weights(node)
    if node.op_type in ("Einsum", "Attention"):
        return tuple(node.input[:3])
    return (node.output[0], node.input[0], node.input[WEIGHTS[node.op_type]]) if node.op_type in WEIGHTS else ()


def macs_of(node: onnx.NodeProto, shapes: Shapes) -> int | None:
    """The multiply-accumulates of a node, or None if it multiplies and accumulates nothing."""
    if node.op_type in RECURRENT:
        sequence, batch = shapes[node.input[0]][:2]
        return sequence * batch * sum(math.prod(shapes[name]) for name in node.input[1:3])
    if node.op_type == "Einsum":
        return _einsum(node, shapes)
    if node.op_type == "Attention" and node.domain in ("", "ai.onnx"):
        return _attention(node, shapes)
    if node.domain == DOMAIN and node.op_type in long_maps.CONVOLUTIONS:
        return _long(node, shapes)
    if node.op_type not in WEIGHTS:
        return None
    weights = shapes[node.input[WEIGHTS[node.op_type]]]
    if node.op_type in CONVOLUTIONS:
        return math.prod(shapes[node.output[0]]) * math.prod(weights[1:])
    if node.op_type == "ConvTranspose":
        return math.prod(shapes[node.input[0]]) * math.prod(weights[1:])
    inner = shapes[node.input[0]]
    transposed = any(attribute.name == "transA" and attribute.i for attribute in node.attribute)
    return math.prod(shapes[node.output[0]]) * inner[0 if transposed else -1]


def _long(node: onnx.NodeProto, shapes: Shapes) -> int:
    """The products of a convolution of 16 bits. A number times a weight is one, whatever its bits; channels that fill words
    count none."""
    inputs, outputs = next(tuple(each.ints) for each in node.attribute if each.name == long_maps.CHANNELS)
    batch, _, height, width = shapes[node.output[0]]
    return batch * height * width * int(outputs) * int(inputs) * math.prod(shapes[_long_weights(node)][2:])


def _long_weights(node: onnx.NodeProto) -> str:
    return str(node.input[long_maps.INPUTS[node.op_type].index("w")])


def _einsum(node: onnx.NodeProto, shapes: Shapes) -> int | None:
    """A product for each choice of all letters. One operand alone is only summed, and ``...`` is not counted."""
    equation = next((attribute.s.decode() for attribute in node.attribute if attribute.name == "equation"), "")
    operands = equation.split("->")[0].replace(" ", "").split(",")
    if "." in equation or len(operands) != len(node.input) or len(operands) < 2:
        return None
    sizes = dict(pair for letters, name in zip(operands, node.input, strict=True) for pair in _letters(letters, shapes[name]))
    return math.prod(sizes.values()) * (len(operands) - 1)


def _letters(letters: str, shape: tuple[int, ...]) -> Iterator[tuple[str, int]]:
    return zip(letters, shape, strict=False)


def _attention(node: onnx.NodeProto, shapes: Shapes) -> int:
    """The products of queries with keys, and of the result with values. Heads are in dimension 1, or within the last."""
    query, key, value = (shapes[name] for name in node.input[:3])
    heads = next((attribute.i for attribute in node.attribute if attribute.name == "q_num_heads"), 1)
    keys = next((attribute.i for attribute in node.attribute if attribute.name == "kv_num_heads"), 1)
    if len(query) == 4:
        return math.prod(query[:3]) * key[-2] * (query[-1] + value[-1])
    return query[0] * query[1] * key[1] * (query[2] + heads * (value[2] // keys))
