"""Weights of four bits with a scale for each block of inputs: the CPU multiplies by them, and says so."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from onnx import TensorProto, helper, numpy_helper

from compiler.frontend.pipeline import import_model
from compiler.xgraph.ops import Conv
from isa.config import preset
from tilewright.checking import check
from tilewright.compiling import compile_model
from tilewright.inputs import random_inputs

INPUTS, OUTPUTS, BLOCK = 64, 12, 32


def test_a_product_by_blocks_runs_on_the_cpu_and_the_layer_behind_it_on_the_machine() -> None:
    rng = np.random.default_rng(0)
    blocks = INPUTS // BLOCK
    held: dict[str, NDArray[Any]] = {
        "packed": rng.integers(0, 256, (OUTPUTS, blocks, BLOCK // 2)).astype(np.uint8),
        "scales": rng.uniform(0.01, 0.05, OUTPUTS * blocks).astype(np.float32),
        "w": rng.normal(0, 0.3, (OUTPUTS, 5)).astype(np.float32),
    }
    sizes: dict[str, Any] = {"K": INPUTS, "N": OUTPUTS, "bits": 4, "block_size": BLOCK}
    nodes = [
        helper.make_node("MatMulNBits", ["x", "packed", "scales"], ["a"], name="blocks", domain="com.microsoft", **sizes),
        helper.make_node("MatMul", ["a", "w"], ["y"], name="dense"),
    ]
    ends = [helper.make_tensor_value_info(name, TensorProto.FLOAT, (4, n)) for name, n in (("x", INPUTS), ("y", 5))]
    graph = helper.make_graph(nodes, "blocks", ends[:1], ends[1:], [numpy_helper.from_array(v, k) for k, v in held.items()])
    opsets = [helper.make_opsetid("", 17), helper.make_opsetid("com.microsoft", 1)]
    model = helper.make_model(graph, opset_imports=opsets, ir_version=8)
    data = {"x": rng.normal(0, 1, (8, INPUTS)).astype(np.float32)}
    found = import_model(model, calibration=data)
    assert found.reasons["blocks"] == "no unit of the machine computes MatMulNBits"
    assert [op.name for op in found.graph.ops if isinstance(op, Conv)] == ["dense"]
    compiled = compile_model(model, preset("nano"), calibration=data, cache=False)
    assert check(compiled, random_inputs(compiled.program)).equal
