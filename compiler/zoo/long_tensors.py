"""Quantised networks with activations of 16 bits among those of 8."""

from __future__ import annotations

import random

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

FINER = 256
MICROSOFT = "com.microsoft"
STANDARD = 21
"""The operator set from which on ONNX's own QuantizeLinear and DequantizeLinear know 16 bits."""
_EIGHT_BITS: dict[int, int] = {TensorProto.INT8: 0, TensorProto.UINT8: 128}
"""The types of 8 bits, and what is taken off their zero-points."""


def with_long_tensors(model: onnx.ModelProto, seed: int) -> onnx.ModelProto:
    """The model with a random share of activations in 16 bits, with steps of a 256th; biases behind them grow 256 times.

    Tensors that have the same scale and zero-point by name keep that in common.
    """
    rng, made = random.Random(f"long {seed}"), onnx.ModelProto()
    made.CopyFrom(model)
    graph = made.graph
    constants = {tensor.name: tensor for tensor in graph.initializer}
    share, chosen = rng.choice((0.3, 0.7, 1.0)), set[tuple[str, str]]()
    for numbers in sorted(_of_activations(graph, constants)):
        if rng.random() < share:
            chosen.add(numbers)
            _widen(*(constants[name] for name in numbers))
    standard = any(item.domain in ("", "ai.onnx") and item.version >= STANDARD for item in made.opset_import)
    longer = {name: node for node in graph.node if tuple(node.input[1:3]) in chosen for name in node.output}
    for node in longer.values():
        node.domain = "" if standard else MICROSOFT
    if longer and not any(item.domain == MICROSOFT for item in made.opset_import):
        made.opset_import.append(helper.make_opsetid(MICROSOFT, 1))
    known = {name: node for node in graph.node for name in node.output}
    for node in graph.node:
        bias = known.get(node.input[2]) if node.op_type in ("Conv", "ConvTranspose", "Gemm") and len(node.input) > 2 else None
        if bias is not None and bias.op_type == "DequantizeLinear" and node.input[0] in longer:
            _lengthen(constants[bias.input[0]], constants[bias.input[1]])
    del graph.value_info[:]
    return made


def _of_activations(graph: onnx.GraphProto, constants: dict[str, onnx.TensorProto]) -> set[tuple[str, str]]:
    """The names of scales and zero-points of 8 bits that belong to conversions of activations alone, each in one pair only."""
    found, others = set[tuple[str, str]](), set[str]()
    for node in graph.node:
        x, scale, zero = (*node.input, "", "", "")[:3]
        eight = zero in constants and constants[zero].data_type in _EIGHT_BITS
        if node.op_type in ("QuantizeLinear", "DequantizeLinear") and eight and x not in constants:
            found.add((scale, zero))
        else:
            others |= set(node.input)
    once = [name for numbers in found for name in numbers]
    return {numbers for numbers in found if all(once.count(name) == 1 and name not in others for name in numbers)}


def _widen(scale: onnx.TensorProto, zero: onnx.TensorProto) -> None:
    above = _EIGHT_BITS[zero.data_type]
    steps = (numpy_helper.to_array(zero).astype(np.int16) - above) * FINER
    zero.CopyFrom(numpy_helper.from_array(steps.astype(np.int16), zero.name))
    scale.CopyFrom(numpy_helper.from_array(numpy_helper.to_array(scale) / np.float32(FINER), scale.name))


def _lengthen(stored: onnx.TensorProto, scale: onnx.TensorProto) -> None:
    steps = np.clip(numpy_helper.to_array(stored).astype(np.int64) * FINER, -(1 << 31), (1 << 31) - 1)
    stored.CopyFrom(numpy_helper.from_array(steps.astype(np.int32), stored.name))
    scale.CopyFrom(numpy_helper.from_array(numpy_helper.to_array(scale) / np.float32(FINER), scale.name))
