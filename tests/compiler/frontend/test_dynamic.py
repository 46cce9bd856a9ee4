"""Models that onnxruntime quantised dynamically: with calibration data they are float models, without as they came."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnxruntime.quantization import QuantType, quantize_dynamic

from compiler.frontend.dynamic import as_float
from compiler.frontend.model import to_proto
from compiler.frontend.pipeline import import_model
from compiler.frontend.reader import read
from compiler.frontend.session import run
from compiler.quantise.quantise import is_float
from compiler.xgraph.ops import Cpu
from tests.compiler.frontend.quantised_models import check_exact, model, node, weights

TABLE = {"w": weights(8, 12), "v": weights(12, 4), "b": weights(12), "k": weights(6, 3, 3, 3), "c": weights(6)}
DENSE = [node("MatMul", "x w", "m"), node("Add", "m b", "a"), node("Relu", "a", "r"), node("MatMul", "r v")]
FORMS = {
    "products": (DENSE, (1, 5, 8)),
    "a convolution": ([node("Conv", "x k c", pads=[1, 1, 1, 1])], (1, 3, 6, 6)),
}


def dynamic(nodes: list[onnx.NodeProto], shape: tuple[int, ...], folder: Path, weight_type: QuantType) -> onnx.ModelProto:
    """Quantised by onnxruntime's own tool."""
    used = {name for each in nodes for name in each.input}
    given, found = folder / "float.onnx", folder / "dynamic.onnx"
    whole = model(nodes, shape, {k: v for k, v in TABLE.items() if k in used})
    whole.graph.output[0].CopyFrom(onnx.helper.make_tensor_value_info("y", onnx.TensorProto.FLOAT, None))
    onnx.save(whole, given)
    quantize_dynamic(given, found, weight_type=weight_type, op_types_to_quantize=["MatMul", "Conv"])
    return onnx.load(found)


@pytest.mark.parametrize("weight_type", [QuantType.QInt8, QuantType.QUInt8])
@pytest.mark.parametrize("name", FORMS)
def test_with_calibration_it_is_a_float_model(name: str, weight_type: QuantType, tmp_path: Path) -> None:
    nodes, shape = FORMS[name]
    proto = dynamic(nodes, shape, tmp_path, weight_type)
    before = read(proto)
    assert not is_float(before)
    after = as_float(before)
    assert is_float(after)
    feeds = {"x": np.random.default_rng(0).standard_normal(shape).astype(np.float32)}
    expected, found = run(to_proto(before), feeds)["y"], run(to_proto(after), feeds)["y"]
    assert np.abs(found - expected).max() < 0.02 * np.abs(expected).max()
    imported = import_model(proto, calibration=feeds)
    assert {each.op_type for each in imported.oracle.graph.node} & {"QGemm", "QLinearConv"}
    assert len([op for op in imported.graph.ops if isinstance(op, Cpu)]) <= 2
    check_exact(imported)


def test_without_it_stays_as_it_is(tmp_path: Path) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = import_model(dynamic(*FORMS["products"], tmp_path, QuantType.QInt8))
    assert all(isinstance(op, Cpu) for op in found.graph.ops)


MATMULS = {
    "DynamicQuantizeMatMul": [node("DynamicQuantizeMatMul", "x W S Z B", domain="com.microsoft")],
    "MatMulIntegerToFloat": [
        node("DynamicQuantizeLinear", "x", "q s z"), node("MatMulIntegerToFloat", "q W s S z Z B", domain="com.microsoft"),
    ],
}  # fmt: skip


@pytest.mark.parametrize("name", MATMULS)
def test_onnxruntimes_own_products(name: str) -> None:
    rng = np.random.default_rng(1)
    table: dict[str, Any] = {
        "W": rng.integers(0, 256, (8, 4), dtype=np.uint8), "S": np.array([0.01, 0.02, 0.03, 0.04], np.float32),
        "Z": np.array([128, 120, 130, 7], np.uint8), "B": weights(4),
    }  # fmt: skip
    before = read(model(MATMULS[name], (3, 8), table))
    after = as_float(before)
    feeds = {"x": rng.standard_normal((3, 8)).astype(np.float32)}
    expected, found = run(to_proto(before), feeds)["y"], run(to_proto(after), feeds)["y"]
    assert np.abs(found - expected).max() < 0.02 * np.abs(expected).max()
