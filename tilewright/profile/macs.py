"""Multiply-accumulates of each node, from the quantised model that a program carries."""

from __future__ import annotations

import math

import numpy as np
import onnx

from isa.program import WHOLE_MODEL, Program
from sim.runtime.oracle import FLOAT
from sim.runtime.parts import run_session, session

WEIGHTS = {
    "Conv": 1, "ConvTranspose": 1, "Gemm": 1, "MatMul": 1, "QLinearConv": 3, "QLinearMatMul": 3, "QGemm": 3,
}  # fmt: skip
"""Operators that multiply and accumulate, and which input holds their weights."""


def macs_of_nodes(program: Program) -> dict[str, int]:
    """By node name; empty for a program without a model. onnxruntime tells the shapes, which are its own inference's."""
    blob = next((graph.model for graph in program.cpu_graphs if graph.name == WHOLE_MODEL), None)
    if blob is None:
        return {}
    model = onnx.load_from_string(blob)
    nodes = [node for node in model.graph.node if node.op_type in WEIGHTS]
    stored = {tensor.name for tensor in model.graph.initializer}
    asked = {name for node in nodes for name in (node.output[0], node.input[0], node.input[WEIGHTS[node.op_type]])} - stored
    given = {value.name for value in (*model.graph.output, *model.graph.input)}
    model.graph.output.extend(onnx.ValueInfoProto(name=name) for name in sorted(asked - given))
    names = sorted(asked)
    feeds = {tensor.name: np.zeros(tensor.shape, tensor.type) for tensor in program.inputs}
    values = zip(names, run_session(session(model.SerializeToString(), kind=FLOAT), names, feeds), strict=True) if names else ()
    shapes: dict[str, tuple[int, ...]] = {name: np.asarray(value).shape for name, value in values}
    shapes |= {tensor.name: tuple(tensor.dims) for tensor in model.graph.initializer}
    return {node.name: _of_node(node, shapes) for node in nodes}


def _of_node(node: onnx.NodeProto, shapes: dict[str, tuple[int, ...]]) -> int:
    weights = shapes[node.input[WEIGHTS[node.op_type]]]
    if node.op_type in ("Conv", "QLinearConv"):
        return math.prod(shapes[node.output[0]]) * math.prod(weights[1:])
    if node.op_type == "ConvTranspose":
        return math.prod(shapes[node.input[0]]) * math.prod(weights[1:])
    result = shapes[node.output[0]]
    return math.prod(result) * math.prod(weights[-2:]) // result[-1]
