"""Forms of layers that few exports have: numbers behind functions, added constants, patches, weights of nine bits."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx
import pytest
from onnx import TensorProto

from compiler.xgraph.ops import Concat, Conv, Reshape, Slice
from tests.compiler.frontend.quantised_models import check_exact, host_operators, imported, model, node

RNG = np.random.default_rng(21)
SCALES: dict[str, Any] = {
    "s": np.array(0.0312847, np.float32), "z": np.array(5, np.int8), "t": np.array(0.0471931, np.float32),
    "u": np.array(-9, np.int8), "k": np.array(93, np.int8), "ks": np.array(0.0171, np.float32), "kz": np.array(4, np.int8),
}  # fmt: skip
ENDS = [node("DequantizeLinear", "x s z", "xf"), node("DequantizeLinear", "k ks kz", "kf")]
BACK = [node("QuantizeLinear", "e t u", "y")]


@pytest.mark.parametrize("kind", ["Add", "Mul"])
@pytest.mark.parametrize("sides", ["{0} kf", "kf {0}"])
@pytest.mark.parametrize("function", ["", "Sigmoid", "LeakyRelu", "Relu"])
def test_a_number_behind_a_function_or_alone(function: str, sides: str, kind: str) -> None:
    """onnxruntime has an integer kernel for the number alone, and computes it in float behind a function."""
    between = [node(function, "xf", "f")] if function else []
    nodes = [*ENDS, *between, node(kind, sides.format("f" if function else "xf"), "e"), *BACK]
    found = imported(model(nodes, (1, 4, 8, 16), SCALES, elem=TensorProto.INT8))
    check_exact(found, seeds=4)
    assert not host_operators(found)


@pytest.mark.parametrize("kind", ["Add", "Mul"])
def test_a_number_between_functions(kind: str) -> None:
    nodes = [*ENDS, node(kind, "xf kf", "a"), node("Sigmoid", "a", "e"), *BACK]
    found = imported(model(nodes, (1, 4, 8, 16), SCALES, elem=TensorProto.INT8))
    check_exact(found, seeds=4)
    assert not host_operators(found)


def convolution(between: list[onnx.NodeProto], **table: Any) -> onnx.ModelProto:
    """In QDQ, of eight channels, and what stands before its result is quantised."""
    table = {
        **SCALES, "w": RNG.integers(-127, 128, (8, 4, 3, 3)).astype(np.int8), "ws": np.array(0.004, np.float32),
        "wz": np.array(0, np.int8), **table,
    }  # fmt: skip
    nodes = [
        node("DequantizeLinear", "x s z", "xf"), node("DequantizeLinear", "w ws wz", "wf"), node("Conv", "xf wf", "c"),
        *between, *BACK,
    ]  # fmt: skip
    return model(nodes, (1, 4, 9, 8), table, elem=TensorProto.INT8)


BIAS_UNIT = 0.0312847 * 0.004
CONSTANTS = {"alone": (), "per channel": (8, 1, 1), "per channel, four": (1, 8, 1, 1), "per column": (6,), "all": (8, 7, 6)}


@pytest.mark.parametrize("shape", CONSTANTS.values(), ids=CONSTANTS)
@pytest.mark.parametrize("op_type", ["Add", "Sub", "Mul"])
@pytest.mark.parametrize("clamped", [False, True])
def test_constants_behind_a_convolution(clamped: bool, op_type: str, shape: tuple[int, ...]) -> None:
    """One per channel is a bias where it is added to the sums themselves; all else stays in float, on the CPU."""
    units = RNG.integers(-20_000, 20_000, shape)
    between = [node("Relu", "c", "r")] if clamped else []
    between.append(node(op_type, f"{'r' if clamped else 'c'} b", "e"))
    found = imported(convolution(between, b=(units * np.float32(BIAS_UNIT)).astype(np.float32)))
    bias = op_type == "Add" and not clamped and shape not in ((6,), (8, 7, 6))
    assert [type(op) for op in found.graph.ops if isinstance(op, Conv)] == [Conv] * bias
    assert ("Add" in host_operators(found)) == (op_type == "Add" and not bias)
    check_exact(found, seeds=1)


@pytest.mark.parametrize("least", [None, -0.7, 0.0])
@pytest.mark.parametrize("most", [None, 0.9])
def test_only_a_clamp_that_clamps_keeps_a_bias_off(least: float | None, most: float | None) -> None:
    """Clip without bounds lets everything pass."""
    table = {name: np.array(value, np.float32) for name, value in (("lo", least), ("hi", most)) if value is not None}
    inputs = f"c {'_' if least is None else 'lo'} {'_' if most is None else 'hi'}"
    units = RNG.integers(-20_000, 20_000, (8, 1, 1))
    table["b"] = (units * np.float32(BIAS_UNIT)).astype(np.float32)
    found = imported(convolution([node("Clip", inputs, "r"), node("Add", "r b", "e")], **table))
    assert ("Add" in host_operators(found)) == (least is not None or most is not None)
    check_exact(found, seeds=1)


@pytest.mark.parametrize("kernel", [(16, 16), (16, 8), (4, 32), (8, 8)])
@pytest.mark.parametrize("rest", [(0, 0), (3, 0), (0, 5), (2, 1)])
@pytest.mark.parametrize("batch", [1, 2])
def test_windows_side_by_side_are_read_in_rows_where_they_are_wide(
    kernel: tuple[int, int], rest: tuple[int, int], batch: int
) -> None:
    """The channels of a patch's row are those of one pixel; what is left over at the ends is cut off first."""
    k_h, k_w = kernel
    table = {
        **SCALES, "w": RNG.integers(-127, 128, (5, 3, k_h, k_w)).astype(np.int8), "ws": np.array(0.0004, np.float32),
        "wz": np.array(0, np.int8), "b": RNG.integers(-3000, 3000, 5).astype(np.int32),
    }  # fmt: skip
    shape = (batch, 3, 2 * k_h + rest[0], 3 * k_w + rest[1])
    nodes = [node("QLinearConv", "x s z w ws wz t u b", strides=[k_h, k_w])]
    found = imported(model(nodes, shape, table, elem=TensorProto.INT8))
    check_exact(found, seeds=1)
    (conv,) = (op for op in found.graph.ops if isinstance(op, Conv))
    wide = max(kernel) >= 16
    assert conv.window.kernel == ((k_h, 1) if wide else kernel)
    assert conv.weights.shape[3] == (k_w * 3 if wide else 3)
    assert any(isinstance(op, Slice) for op in found.graph.ops) == (wide and rest != (0, 0))
    assert not host_operators(found)


@pytest.mark.parametrize(
    "attributes", [{"pads": [1, 0, 0, 0], "strides": [16, 16]}, {"group": 3, "strides": [16, 16]}, {"strides": [16, 15]}]
)
def test_other_wide_windows_are_read_as_they_are(attributes: dict[str, Any]) -> None:
    groups = attributes.get("group", 1)
    table = {
        **SCALES, "w": RNG.integers(-127, 128, (6, 3 // groups, 16, 16)).astype(np.int8), "ws": np.array(0.0004, np.float32),
        "wz": np.array(0, np.int8),
    }  # fmt: skip
    found = imported(
        model([node("QLinearConv", "x s z w ws wz t u", **attributes)], (1, 3, 33, 48), table, elem=TensorProto.INT8)
    )
    (conv,) = (op for op in found.graph.ops if isinstance(op, Conv))
    assert conv.window.kernel == (16, 16)
    assert not any(isinstance(op, Reshape) for op in found.graph.ops)
    check_exact(found, seeds=1)


def fewest_twice(weights: np.ndarray) -> int | None:
    """Of all zero-points that leave what is over within eight bits: the fewest input channels that have such a weight."""
    found = []
    for zero in range(-128, 128):
        stored = weights + zero
        over = stored - np.clip(stored, -128, 127)
        if np.abs(over + zero + 0.5).max() < 128:
            found.append(int(over.any(axis=(0, 2, 3)).sum()))
    return min(found, default=None)


@pytest.mark.parametrize("zeros", [(0, 40), (215, 255), (0, 255), (100, 156)], ids=str)
@pytest.mark.parametrize("seed", range(3))
def test_weights_of_nine_bits_take_the_fewest_channels_twice(zeros: tuple[int, int], seed: int) -> None:
    """uint8 with a zero-point for each output channel, mostly positive, mostly negative, and both."""
    rng = np.random.default_rng(seed)
    zero = rng.integers(zeros[0], zeros[1] + 1, 6).astype(np.uint8)
    values = np.clip(rng.normal(128, 40, (6, 9, 2, 1)), 0, 255).astype(np.uint8)
    values[0, 2], values[3, 5], values[4, 2], zero[3], zero[0] = 255, 0, 3, zeros[1], zeros[0]
    table = {
        **SCALES, "w": values, "ws": np.full(6, 0.003, np.float32), "wz": zero, "xz": np.array(131, np.uint8),
        "yz": np.array(119, np.uint8), "b": rng.integers(-3000, 3000, 6).astype(np.int32),
    }  # fmt: skip
    found = imported(model([node("QLinearConv", "x s xz w ws wz t yz b")], (1, 9, 5, 7), table, elem=TensorProto.UINT8))
    check_exact(found, seeds=1)
    real = values.astype(int) - zero.astype(int)[:, None, None, None]
    twice = fewest_twice(real) if np.ptp(np.append(real, 0)) > 255 else 0
    conv = found.graph.ops[-1]
    assert isinstance(conv, Conv) == (twice is not None)
    if isinstance(conv, Conv) and twice is not None:
        assert conv.weights.shape[3] == 9 + twice
        assert any(isinstance(op, Concat) for op in found.graph.ops) == (twice > 0)
