"""One-node ONNX models, run in onnxruntime without graph optimisation."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnxruntime
from onnx import TensorProto, helper, numpy_helper

TYPES = {np.dtype(np.int8): TensorProto.INT8, np.dtype(np.uint8): TensorProto.UINT8, np.dtype(np.float32): TensorProto.FLOAT}


def run_node(
    operator: str, x: np.ndarray, constants: dict[str, np.ndarray], *, domain: str = "", names: str = "", **attributes: Any
) -> np.ndarray:
    """The output of one node whose inputs are called ``names`` (``x`` and then the constants, unless told)."""
    inputs = names.split() or ["x", *constants]
    node = helper.make_node(operator, inputs, ["y"], domain=domain, **attributes)
    graph = helper.make_graph(
        [node],
        "one node",
        [helper.make_tensor_value_info("x", TYPES[x.dtype], x.shape)],
        [helper.make_tensor_value_info("y", TYPES[x.dtype], None)],
        [numpy_helper.from_array(np.asarray(value), name) for name, value in constants.items()],
    )
    opsets = [helper.make_opsetid("", 13), helper.make_opsetid("com.microsoft", 1)]
    model = helper.make_model(graph, opset_imports=opsets, ir_version=8)
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.intra_op_num_threads = 1
    session = onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
    result: np.ndarray = session.run(None, {"x": x})[0]
    return result
