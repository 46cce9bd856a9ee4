"""Which CPU parts are known to do nothing but convert: one scale, one zero-point, float32 on one side, straight through."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx
import pytest
from numpy.typing import NDArray
from onnx import TensorProto, helper, numpy_helper

from compiler.emit.conversions import conversions_of
from isa.program import Conversion

FLOAT, HALF, BYTE, SIGNED = TensorProto.FLOAT, TensorProto.FLOAT16, TensorProto.UINT8, TensorProto.INT8
SCALE, ZERO = np.array(0.25, np.float32), np.array(3, np.int8)


def part(
    nodes: list[onnx.NodeProto], given: dict[str, int], made: dict[str, int], **constants: NDArray[Any]
) -> bytes:
    ends = [[helper.make_tensor_value_info(name, kind, [2, 3]) for name, kind in side.items()] for side in (given, made)]
    values = [numpy_helper.from_array(value, name) for name, value in constants.items()]
    model = helper.make_model(helper.make_graph(nodes, "part", ends[0], ends[1], values))
    whole: bytes = model.SerializeToString()
    return whole


def quantise(*inputs: str, output: str = "y", **attributes: Any) -> onnx.NodeProto:
    return helper.make_node("QuantizeLinear", list(inputs), [output], **attributes)


def one(
    scale: NDArray[Any] = SCALE, zero: NDArray[Any] = ZERO, node: onnx.NodeProto | None = None, real: int = FLOAT
) -> tuple[Conversion, ...]:
    """Of a part that quantises x to y."""
    return conversions_of(part([node or quantise("x", "s", "z")], {"x": real}, {"y": SIGNED}, s=scale, z=zero))


def test_a_zero_point_that_is_not_named_is_zero() -> None:
    for inputs in (("x", "s"), ("x", "s", "")):
        assert one(node=quantise(*inputs)) == (Conversion("x", "y", 0.25, 0),)


def test_all_that_a_part_converts_is_told_in_order() -> None:
    back = helper.make_node("DequantizeLinear", ["b", "s", "w"], ["real"])
    zeros = {"z": ZERO, "w": np.array(7, np.uint8)}
    model = part([quantise("a", "s", "z"), back], {"a": FLOAT, "b": BYTE}, {"y": SIGNED, "real": FLOAT}, s=SCALE, **zeros)
    assert conversions_of(model) == (Conversion("a", "y", 0.25, 3), Conversion("b", "real", 0.25, 7))


def test_one_scale_in_a_vector_is_one_scale() -> None:
    assert one(SCALE.reshape(1), ZERO.reshape(1), quantise("x", "s", "z", axis=0)) == (Conversion("x", "y", 0.25, 3),)


@pytest.mark.parametrize("scale", [2.0**-126, 0.5, 1.0, 3e38])
def test_any_positive_scale_will_do(scale: float) -> None:
    assert one(np.array(scale, np.float32)) == (Conversion("x", "y", float(np.float32(scale)), 3),)


@pytest.mark.parametrize(
    "other",
    [
        {"scale": np.array([0.25, 0.5], np.float32)},
        {"zero": np.array([3, 4], np.int8)},
        {"scale": np.array(0.25, np.float16)},
        {"zero": np.array(3, np.int32)},
        {"scale": np.array(0, np.float32)},
        {"scale": np.array(-0.25, np.float32)},
        {"scale": np.array(np.inf, np.float32)},
        {"scale": np.array(np.nan, np.float32)},
        {"real": HALF},
        {"node": quantise("x", "s", "z", saturate=0)},
        {"node": quantise("x", "s", "z", domain="com.microsoft")},
        {"node": quantise("x", "unknown", "z")},
        {"node": quantise("x", "s", "unknown")},
        {"node": quantise("x")},
        {"node": helper.make_node("Identity", ["x", "s", "z"], ["y"])},
    ],
)  # fmt: skip
def test_what_is_more_than_a_conversion_is_left_to_onnxruntime(other: dict[str, Any]) -> None:
    assert one() == (Conversion("x", "y", 0.25, 3),)
    assert one(**other) == ()


def test_a_part_is_left_whole_to_onnxruntime_if_any_of_it_is() -> None:
    """Values that pass through a third, an output that nobody makes or that is an input: nothing is told of the others."""
    back = helper.make_node("DequantizeLinear", ["y", "s", "z"], ["w"])
    constants: dict[str, NDArray[Any]] = {"s": SCALE, "z": ZERO}
    assert conversions_of(part([quantise("x", "s", "z"), back], {"x": FLOAT}, {"w": FLOAT}, **constants)) == ()
    assert conversions_of(part([quantise("x", "s", "z")], {"x": FLOAT}, {"y": SIGNED, "x": FLOAT}, **constants)) == ()
    assert conversions_of(part([quantise("h", "s", "z")], {"x": FLOAT}, {"y": SIGNED}, **constants)) == ()
    copy = helper.make_node("Identity", ["x"], ["w"])
    assert conversions_of(part([quantise("x", "s", "z"), copy], {"x": FLOAT}, {"y": SIGNED}, **constants)) == ()
