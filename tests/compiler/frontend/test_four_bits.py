"""Models with weights of four bits run whole on the machine, in half the bytes; other uses of four bits stay on the CPU."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import onnx
import pytest

from compiler.frontend.model import to_proto
from compiler.frontend.narrow import with_wide_constants
from compiler.frontend.pipeline import import_model
from compiler.frontend.reader import read
from compiler.frontend.session import run
from compiler.xgraph.ops import Conv
from tests.compiler.frontend.quantised_models import check_exact, host_operators, model, node

RNG = np.random.default_rng(4)
SHAPE = (1, 5, 6, 6)
FORMS: dict[str, tuple[Any, tuple[int, int], Any, Any]] = {
    "signed, per channel": (ml_dtypes.int4, (-8, 8), np.linspace(0.01, 0.03, 7, dtype=np.float32), np.zeros(7)),
    "signed, per tensor": (ml_dtypes.int4, (-8, 8), np.float32(0.02), np.zeros(())),
    "signed, no zero-point": (ml_dtypes.int4, (-8, 8), np.float32(0.02), None),
    "unsigned": (ml_dtypes.uint4, (0, 16), np.float32(0.02), np.full((), 7)),
    "unsigned, no zero-point": (ml_dtypes.uint4, (0, 16), np.float32(0.02), None),
}
"""Type, numbers, scale and zero-point of the weights."""


def constants(form: str, shape: tuple[int, ...]) -> dict[str, Any]:
    kind, numbers, scale, zero = FORMS[form]
    found = {"xs": np.float32(0.02), "xz": np.int8(3), "ys": np.float32(0.1), "yz": np.int8(-4), "ws": scale}
    found["w"] = RNG.integers(*numbers, shape).astype(kind)
    return found if zero is None else found | {"wz": zero.astype(kind)}


def quantised(form: str, layer: onnx.NodeProto, weights: tuple[int, ...], **attributes: Any) -> onnx.ModelProto:
    table = constants(form, weights)
    zero = " wz" if "wz" in table else ""
    axis: dict[str, Any] = {"axis": 0} if np.ndim(table["ws"]) else {}
    made = model([
        node("QuantizeLinear", "x xs xz", "q"), node("DequantizeLinear", "q xs xz", "f"),
        node("DequantizeLinear", f"w ws{zero}", "v", **axis, **attributes), layer,
        node("QuantizeLinear", "a ys yz", "r"), node("DequantizeLinear", "r ys yz", "y"),
    ], SHAPE, table, opset=21)  # fmt: skip
    made.ir_version = 10
    made.graph.output[0].CopyFrom(onnx.helper.make_tensor_value_info("y", onnx.TensorProto.FLOAT, None))
    return made


def convolution(form: str) -> onnx.ModelProto:
    return quantised(form, node("Conv", "f v", "a", pads=[1, 1, 1, 1]), (7, 5, 3, 3))


@pytest.mark.parametrize("form", FORMS)
def test_a_layer_with_weights_of_four_bits_runs_on_the_machine(form: str) -> None:
    found = import_model(convolution(form))
    assert not host_operators(found)
    assert [op.int4 for op in found.graph.ops if isinstance(op, Conv)] == [True]
    check_exact(found)


@pytest.mark.parametrize("form", FORMS)
def test_the_same_numbers_in_eight_bits_are_the_same_model(form: str) -> None:
    source = convolution(form)
    wide = with_wide_constants(read(source))
    assert {value.dtype.name for value in wide.constants.values()} == {"float32", "int8"}
    feeds = {"x": RNG.standard_normal(SHAPE).astype(np.float32)}
    assert np.array_equal(run(source, feeds)["y"], run(to_proto(wide), feeds)["y"])


def test_scales_of_blocks_stay_on_the_cpu() -> None:
    source = quantised("signed, per tensor", node("MatMul", "f v", "a"), (6, 4))
    scales = onnx.numpy_helper.from_array(np.full((3, 4), 0.02, np.float32), "ws")
    zeros = onnx.numpy_helper.from_array(np.zeros((3, 4), ml_dtypes.int4), "wz")
    for number, each in enumerate(source.graph.initializer):
        source.graph.initializer[number].CopyFrom({"ws": scales, "wz": zeros}.get(each.name, each))
    (reader,) = (each for each in source.graph.node if each.input[0] == "w")
    reader.attribute.extend([onnx.helper.make_attribute("axis", 0), onnx.helper.make_attribute("block_size", 2)])
    found = import_model(source)
    assert "MatMul" in host_operators(found)
    check_exact(found)


def test_activations_of_four_bits_stay_on_the_cpu() -> None:
    found = import_model(activations())
    assert not any(isinstance(op, Conv) for op in found.graph.ops)
    assert {each.op_type for each in found.oracle.graph.node} >= {"QuantizeLinear", "Relu"}
    check_exact(found)


def test_a_product_with_blocks_of_four_bits_stays_on_the_cpu() -> None:
    packed, scales = RNG.integers(0, 256, (8, 2, 16)).astype(np.uint8), np.full(16, 0.02, np.float32)
    product = node("MatMulNBits", "x b s", "y", domain="com.microsoft", K=64, N=8, bits=4, block_size=32)
    source = model([product], (3, 64), {"b": packed, "s": scales})
    source.graph.output[0].CopyFrom(onnx.helper.make_tensor_value_info("y", onnx.TensorProto.FLOAT, None))
    found = import_model(source, calibration={"x": RNG.standard_normal((4, 3, 64)).astype(np.float32)})
    assert "MatMulNBits" in host_operators(found)
    check_exact(found)


def activations() -> onnx.ModelProto:
    table: dict[str, Any] = {"xs": np.float32(0.5), "xz": np.zeros((), ml_dtypes.int4)}
    made = model([
        node("QuantizeLinear", "x xs xz", "q"), node("DequantizeLinear", "q xs xz", "f"), node("Relu", "f", "y"),
    ], SHAPE, table, opset=21)  # fmt: skip
    made.ir_version = 10
    made.graph.output[0].CopyFrom(onnx.helper.make_tensor_value_info("y", onnx.TensorProto.FLOAT, None))
    return made
