"""ONNX's own conformance cases: none crashes, and what is quantised agrees with onnxruntime in every bit.

``tests/e2e/test_onnx_conformance.py`` compiles and runs them in the quick suite; here every tensor between is compared.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import numpy_helper

from compiler.frontend.reader import converted
from compiler.frontend.session import RuntimeRefusal, session
from tests.compiler.frontend.quantised_models import differences, imported
from tests.onnx_cases import node_cases

OPERATORS = (
    "Add", "AveragePool", "BatchNormalization", "Clip", "Concat", "Conv", "ConvTranspose", "DepthToSpace", "Flatten", "Gemm",
    "GlobalAveragePool", "GlobalMaxPool", "HardSwish", "LeakyRelu", "MatMul", "MaxPool", "Mul", "PRelu", "Pad", "QLinearConv",
    "QLinearMatMul", "ReduceMean", "Relu", "Reshape", "Resize", "Sigmoid", "Slice", "Softmax", "SpaceToDepth", "Split",
    "Squeeze", "Sub", "Tanh", "Transpose", "Unsqueeze", "Upsample",
)  # fmt: skip
NOT_RUN = {"test_spacetodepth_crd_mode_example"}
"""Of an operator set that onnxruntime does not run and onnx does not convert."""


@cache
def cases() -> dict[str, list[Any]]:
    """Single-node cases by operator."""
    found: dict[str, list[Any]] = {}
    for case in node_cases():
        nodes = case.model.graph.node
        if len(nodes) == 1 and nodes[0].op_type in OPERATORS and case.name not in NOT_RUN:
            found.setdefault(nodes[0].op_type, []).append(case)
    return found


def with_constants(case: Any) -> tuple[onnx.ModelProto, dict[str, np.ndarray[Any, Any]]]:
    """Float32 cases keep their first input (element-wise ones two); quantised ones all tensors that are activations."""
    model = onnx.ModelProto()
    model.CopyFrom(case.model)
    names = [info.name for info in model.graph.input]
    values = dict(zip(names, (np.asarray(value) for value in case.data_sets[0][0]), strict=True))
    op_type = model.graph.node[0].op_type
    kept = names if op_type in ("Add", "Mul", "Sub", "Concat") else names[:1]
    for info in [info for info in model.graph.input if info.name not in kept]:
        model.graph.input.remove(info)
        model.graph.initializer.append(numpy_helper.from_array(values[info.name], info.name))
    return model, {name: values[name] for name in kept}


def runnable(op_type: str) -> Iterator[tuple[str, onnx.ModelProto, dict[str, np.ndarray[Any, Any]]]]:
    """Weights and other later inputs are constants."""
    for case in cases()[op_type]:
        yield case.name, *with_constants(case)


def is_implemented(model: onnx.ModelProto) -> bool:
    """onnxruntime lacks some operators for some types."""
    try:
        session(converted(model))
    except RuntimeRefusal as refusal:
        return "NOT_IMPLEMENTED" not in str(refusal)
    return True


@pytest.mark.slow
@pytest.mark.parametrize("op_type", OPERATORS)
def test_cases_of_an_operator_agree(op_type: str) -> None:
    for name, model, feeds in runnable(op_type):
        shapes = {key: value.shape for key, value in feeds.items()}
        if not is_implemented(model):
            continue
        found = imported(model, calibration=feeds, shapes=shapes)
        wrong = {key: value for key, value in differences(found, feeds).items() if value[0]}
        assert not wrong, name
