"""Models of softmax and normalisation, and a machine that has ROW."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

from isa.config import preset

ROWS = replace(preset("nano"), name="nano_rows", build_rows=True, row_words=16)
SCALE = np.float32(0.05)
Array = np.ndarray[Any, Any]
CHANNELS, TOKENS = 12, 7
DATA = {"x": np.random.default_rng(1).normal(0, 1, (8, TOKENS, CHANNELS)).astype(np.float32)}


def model(
    nodes: Sequence[onnx.NodeProto], shape: Sequence[int], constants: Mapping[str, object], opset: int = 17,
    kind: int = TensorProto.INT8, output: Sequence[int] | None = None, ends: Sequence[str] = ("y",),
) -> onnx.ModelProto:  # fmt: skip
    """From ``x`` to ``ends`` of 8 bits."""
    inputs = [helper.make_tensor_value_info("x", kind, shape)]
    outputs = [helper.make_tensor_value_info(end, kind, output or shape) for end in ends]
    held = [numpy_helper.from_array(np.asarray(value), name) for name, value in constants.items()]
    graph = helper.make_graph(nodes, "rows", inputs, outputs, held)
    opsets = [helper.make_opsetid("", opset), helper.make_opsetid("com.microsoft", 1)]
    return helper.make_model(graph, opset_imports=opsets, ir_version=8)


def between(
    operator: str, shape: Sequence[int], opset: int = 17, kind: int = TensorProto.INT8, *, output_scale: float | None = None,
    gamma: Array | None = None, outputs: Sequence[str] = ("made",), **attributes: Any,
) -> onnx.ModelProto:  # fmt: skip
    """The operator between DequantizeLinear and QuantizeLinear."""
    of_type = np.int8 if kind == TensorProto.INT8 else np.uint8
    lowest = np.iinfo(of_type).min
    softmax = operator == "Softmax"
    rng = np.random.default_rng(7)
    constants: dict[str, object] = {
        "s": SCALE, "z": of_type(lowest + 131), "t": np.float32(output_scale or (1 / 256 if softmax else 0.03)),
        "w": of_type(lowest if softmax else lowest + 121),
    }  # fmt: skip
    reads = ["real"]
    if not softmax:
        constants["g"] = rng.normal(1, 0.3, shape[-1]).astype(np.float32) if gamma is None else gamma
        reads.append("g")
    if operator == "LayerNormalization":
        constants["b"] = rng.normal(0, 0.3, shape[-1]).astype(np.float32)
        reads.append("b")
    nodes = [
        helper.make_node("DequantizeLinear", ["x", "s", "z"], ["real"], name="dequantize"),
        helper.make_node(operator, reads, list(outputs), name="row", **attributes),
        helper.make_node("QuantizeLinear", ["made", "t", "w"], ["y"], name="quantize"),
    ]
    return model(nodes, shape, constants, opset, kind)


def encoder(ending: str = "") -> onnx.ModelProto:
    """A normalisation, a dense layer, a softmax over its results, a dense layer, a residual, a normalisation, a dense layer."""
    rng = np.random.default_rng(0)

    def drawn(*shape: int) -> Array:
        return rng.normal(0, 0.4, shape).astype(np.float32)

    constants = {"w1": drawn(CHANNELS, 10), "w2": drawn(10, CHANNELS), "g": 1 + drawn(CHANNELS), "o": drawn(CHANNELS)}
    node = helper.make_node
    nodes = [
        node("LayerNormalization", ["x", "g", "o"], ["a"], name="first"), node("MatMul", ["a", "w1"], ["b"], name="up"),
        node("Softmax", ["b"], ["c"], name="shares", axis=-1), node("MatMul", ["c", "w2"], ["d"], name="down"),
        node("Add", ["d", "x"], ["e"], name="residual"), node("LayerNormalization", ["e", "g"], ["f"], name="second"),
        node("MatMul", ["f", "w1"], ["h"], name="out"),
    ]  # fmt: skip
    if ending:
        nodes.append(node(ending, ["h"], ["y"], name="ending"))
    x = helper.make_tensor_value_info("x", TensorProto.FLOAT, (1, TOKENS, CHANNELS))
    y = helper.make_tensor_value_info("y" if ending else "h", TensorProto.FLOAT, (1, TOKENS, 10))
    graph = helper.make_graph(nodes, "encoder", [x], [y], [numpy_helper.from_array(v, k) for k, v in constants.items()])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
