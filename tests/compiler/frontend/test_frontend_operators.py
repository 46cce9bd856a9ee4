"""Each operator of a float model: quantised, imported, and equal to onnxruntime in every bit for power-of-two scales."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import onnx
import pytest
from numpy.typing import NDArray

from tests.compiler.frontend.quantised_models import (
    check_counted,
    check_exact,
    host_operators,
    imported,
    model,
    node,
    weights,
)

SHAPE = (1, 6, 9, 8)
ONE = np.ones(1, np.float32)


@dataclass(frozen=True)
class Case:
    name: str
    nodes: Sequence[onnx.NodeProto]
    constants: Mapping[str, NDArray[Any]] = field(default_factory=dict)
    shape: Sequence[int] = SHAPE
    host: frozenset[str] = frozenset()
    """Operators that stay on the CPU."""
    outputs: tuple[str, ...] = ("y",)
    opset: int = 17
    free: bool = True
    """Whether the free scheme keeps to the limit: not where scales in a whole ratio make every other value a tie."""


def ints(*values: int) -> NDArray[np.int64]:
    return np.array(values, np.int64)


def conv(name: str, outputs: int = 7, kernel: tuple[int, ...] = (3, 3), bias: bool = True, host: frozenset[str] = frozenset(), **a: Any) -> Case:
    group = a.get("group", 1)
    shape = a.pop("shape", SHAPE)
    constants = {"w": weights(outputs, shape[1] // group, *kernel)} | ({"b": weights(outputs)} if bias else {})
    return Case(name, [node("Conv", "x w b" if bias else "x w", **a)], constants, shape, host)


def deconv(name: str, outputs: int = 5, kernel: tuple[int, ...] = (3, 3), relu: bool = False, **a: Any) -> Case:
    shape = a.pop("shape", SHAPE)
    constants = {"w": weights(shape[1], outputs // a.get("group", 1), *kernel), "b": weights(outputs)}
    nodes = [node("Relu", "x", "r")] if relu else []
    return Case(name, [*nodes, node("ConvTranspose", "r w b" if relu else "x w b", **a)], constants, shape)


def pool(op: str, name: str, k: int = 3, host: frozenset[str] = frozenset(), **a: Any) -> Case:
    return Case(f"{op} {name}", [node(op, "x", kernel_shape=[k, k], **a)], host=host)


def unary(op: str, **a: Any) -> Case:
    return Case(op, [node(op, "x", **a)], opset=20)


W = {"w": weights(6, 6, 1, 1), "v": weights(6, 6, 1, 1)}
TWO = [node("Conv", "x w", "a"), node("Conv", "x v", "b")]

CONVOLUTIONS = [
    conv("conv 3x3 padded", pads=[1, 1, 1, 1]),
    conv("conv 1x1 without bias", kernel=(1, 1), bias=False),
    conv("conv stride 2 asymmetric pads", strides=[2, 2], pads=[0, 1, 2, 1]),
    conv("conv dilated", dilations=[2, 2], pads=[2, 2, 2, 2]),
    conv("conv grouped", outputs=9, group=3),
    conv("conv depthwise", outputs=6, group=6, pads=[1, 1, 1, 1]),
    conv("conv depthwise multiplier", outputs=12, group=6),
    conv("conv same upper", kernel=(4, 2), auto_pad="SAME_UPPER", strides=[2, 2]),
    conv("conv same lower", kernel=(4, 2), auto_pad="SAME_LOWER"),
    conv("conv valid", auto_pad="VALID"),
    conv("conv of one dimension", kernel=(3,), pads=[1, 1], shape=(1, 6, 20)),
    conv("conv batch", shape=(3, 6, 9, 8)),
    conv("conv of three dimensions", kernel=(2, 2, 2), shape=(1, 6, 4, 4, 4), host=frozenset({"Conv"})),
    deconv("deconv stride 2", strides=[2, 2], pads=[1, 1, 1, 1], output_padding=[1, 1]),
    deconv("deconv stride 1", pads=[1, 0, 1, 2]),
    deconv("deconv 4x4 after relu", kernel=(4, 4), strides=[2, 2], pads=[1, 1, 1, 1], relu=True),
    deconv("deconv 3x3 after relu", strides=[2, 2], relu=True),
    deconv("deconv 2x2 stride 3", kernel=(2, 2), strides=[3, 3], relu=True),
    deconv("deconv grouped", outputs=6, group=2, strides=[2, 1]),
    deconv("deconv depthwise", outputs=6, group=6, strides=[2, 2], pads=[0, 1, 1, 0]),
    deconv("deconv same", strides=[2, 2], auto_pad="SAME_UPPER"),
    deconv("deconv output shape", strides=[2, 2], output_shape=[18, 16]),
    deconv("deconv of one dimension", kernel=(4,), strides=[2], shape=(1, 6, 10)),
]
POOLS = [
    pool("MaxPool", "plain", strides=[2, 2]),
    pool("MaxPool", "padded", pads=[1, 1, 1, 1]),
    pool("MaxPool", "ceil", k=2, strides=[2, 2], ceil_mode=1),
    pool("MaxPool", "dilated", k=2, dilations=[2, 2]),
    pool("AveragePool", "plain", strides=[2, 2]),
    pool("AveragePool", "padding left out", pads=[1, 1, 1, 1]),
    pool("AveragePool", "padding counted", pads=[1, 1, 1, 1], count_include_pad=1),
    pool("AveragePool", "ceil", k=2, strides=[2, 2], ceil_mode=1),
    pool("AveragePool", "same", k=2, auto_pad="SAME_UPPER"),
    Case("AveragePool over a padded map", [node("AveragePool", "x", kernel_shape=[10, 9], pads=[0, 1, 1, 0])]),
    pool("AveragePool", "many padded", k=6, pads=[2, 2, 2, 2], host=frozenset({"QLinearAveragePool"})),
    Case("GlobalAveragePool", [node("GlobalAveragePool", "x")]),
    Case("GlobalMaxPool", [node("GlobalMaxPool", "x")]),
    Case("ReduceMean", [node("ReduceMean", "x", axes=[2, 3], keepdims=0)]),
    Case("ReduceMean kept", [node("ReduceMean", "x", axes=[-1, -2])]),
    Case("ReduceMean over channels", [node("ReduceMean", "x", axes=[1])], host=frozenset({"ReduceMean"})),
    Case("MaxPool with places", [node("MaxPool", "x", "y i", kernel_shape=[2, 2])], outputs=("y", "i"), host=frozenset({"MaxPool"})),
]
DENSE = [
    Case("gemm", [node("Gemm", "x w b")], {"w": weights(20, 9), "b": weights(9)}, (2, 20)),
    Case("gemm transposed", [node("Gemm", "x w b", transB=1)], {"w": weights(9, 20), "b": weights(1)}, (1, 20)),
    Case("gemm scaled", [node("Gemm", "x w b", alpha=0.5, beta=2.0)], {"w": weights(20, 9), "b": weights(9)}, (1, 20)),
    Case("matmul bias", [node("MatMul", "x w", "m"), node("Add", "m b")], {"w": weights(20, 9), "b": weights(9)}, (1, 20)),
    Case("matmul of three dimensions", [node("MatMul", "x w")], {"w": weights(20, 9)}, (1, 7, 20)),
    Case("flatten gemm", [node("Flatten", "x", "f"), node("Gemm", "f w")], {"w": weights(432, 9)}),
    Case(
        "conv flatten gemm", [node("Conv", "x v", "c"), node("Flatten", "c", "f"), node("Gemm", "f w")],
        {"v": weights(4, 6, 1, 1), "w": weights(288, 9)},
    ),
    Case(
        "conv to NHWC flatten gemm",
        [node("Conv", "x v", "c"), node("Transpose", "c", "t", perm=[0, 2, 3, 1]), node("Flatten", "t", "f"), node("Gemm", "f w")],
        {"v": weights(4, 6, 1, 1), "w": weights(288, 9)},
    ),
    Case(
        "batch norm after gemm", [node("Gemm", "x w", "g"), node("BatchNormalization", "g s b m v")],
        {"w": weights(20, 9), "s": weights(9), "b": weights(9), "m": weights(9), "v": np.abs(weights(9)) + ONE}, (1, 20),
    ),
]  # fmt: skip
POINTWISE = [
    *(unary(op) for op in (
        "Relu", "LeakyRelu", "Sigmoid", "HardSigmoid", "HardSwish", "Tanh", "Elu", "Selu", "Celu", "Softplus", "Softsign", "Mish", "Gelu",
        "ThresholdedRelu", "Erf", "Exp", "Abs", "Neg", "Floor",
    )),
    Case("relu6", [node("Conv", "x w", "c"), node("Clip", "c lo hi")], {**W, "lo": np.float32(0), "hi": np.float32(2)}),
    Case("conv leaky", [node("Conv", "x w", "c"), node("LeakyRelu", "c", alpha=0.1)], W),
    Case("conv hardswish", [node("Conv", "x w", "c"), node("HardSwish", "c")], W),
    Case("prelu one slope", [node("PRelu", "x s")], {"s": np.full(1, 0.2, np.float32)}),
    Case("prelu per channel", [node("PRelu", "x s")], {"s": weights(6, 1, 1)}, host=frozenset({"PRelu"})),
    Case("swish written out", [node("Conv", "x w", "c"), node("Sigmoid", "c", "s"), node("Mul", "c s")], W),
    Case(
        "hard swish written out",
        [node("Conv", "x w", "c"), node("Add", "c three", "p"), node("Clip", "p lo hi", "q"), node("Mul", "c q", "m"), node("Div", "m six")],
        {**W, "three": np.float32(3), "lo": np.float32(0), "hi": np.float32(6), "six": np.float32(6)},
    ),
    Case("add", [*TWO, node("Add", "a b")], W),
    Case("add relu", [*TWO, node("Add", "a b", "s"), node("Relu", "s")], W),
    Case("sub", [*TWO, node("Sub", "a b")], W),
    Case("mul", [*TWO, node("Mul", "a b")], W),
    Case("sum of three", [*TWO, node("Sum", "a b x")], W),
    Case("add a number", [node("Add", "x c")], {"c": np.float32(0.5)}),
    Case("constant minus tensor", [node("Sub", "c x")], {"c": np.float32(0.5)}),
    Case("mul by channel", [*TWO, node("GlobalAveragePool", "b", "g"), node("Mul", "g a")], W),
    Case("mul by pixel", [*TWO, node("Conv", "b u", "p"), node("Mul", "a p")], {**W, "u": weights(1, 6, 1, 1)}),
    Case("channel minus tensor", [*TWO, node("GlobalAveragePool", "b", "g"), node("Sub", "g a")], W),
    Case(
        "squeeze and excitation",
        [node("Conv", "x w", "a"), node("GlobalAveragePool", "a", "g"), node("Conv", "g v", "h"), node("Sigmoid", "h", "s"), node("Mul", "a s")],
        W,
    ),
    Case("add per channel", [node("Relu", "x", "r"), node("Add", "r c")], {"c": weights(6, 1, 1)}),
    Case("two tensors divided", [*TWO, node("Exp", "b", "e"), node("Div", "a e")], W, host=frozenset({"Div"})),
    Case("batch norm alone", [node("Relu", "x", "r"), node("BatchNormalization", "r s b m v")],
         {"s": weights(6), "b": weights(6), "m": weights(6), "v": np.abs(weights(6)) + ONE}),
    Case("batch norm, scale and bias after conv",
         [node("Conv", "x w", "c"), node("BatchNormalization", "c s b m v", "n"), node("Mul", "n k", "l"), node("Add", "l o")],
         {**W, "s": weights(6), "b": weights(6), "m": weights(6), "v": np.abs(weights(6)) + ONE, "k": weights(6, 1, 1),
          "o": weights(1, 6, 1, 1)}),
]  # fmt: skip
MOVES = [
    Case("concat", [*TWO, node("Concat", "a b x", axis=1)], W),
    Case("concat of rows", [*TWO, node("Concat", "a b", axis=2)], W),
    Case("concat of columns", [*TWO, node("Concat", "a b", axis=3)], W),
    Case("split channels", [node("Split", "x s", "p q", axis=1), node("Conv", "q w", "c"), node("Concat", "c p", axis=1)],
         {"s": ints(2, 4), "w": weights(3, 4, 1, 1)}),
    Case("slice of everything", [node("Conv", "x w", "c"), node("Slice", "c b e a s")],
         {**W, "b": ints(1, 2, -7), "e": ints(5, 9, 100), "a": ints(1, 2, 3), "s": ints(2, 3, 1)}),
    Case("focus", [
        node("Slice", "x z e a s", "p"), node("Slice", "x o e a s", "q"), node("Concat", "p q", "f", axis=1), node("Conv", "f w")],
        {"z": ints(0, 0), "o": ints(1, 0), "e": ints(99, 99), "a": ints(2, 3), "s": ints(2, 2), "w": weights(4, 12, 1, 1)},
        (1, 6, 8, 8)),
    Case("pad before conv", [node("Pad", "x p", "q"), node("Conv", "q w")], {"p": ints(0, 0, 1, 2, 0, 0, 0, 1), "w": weights(4, 6, 3, 3)}),
    Case("pad alone", [node("Conv", "x w", "c"), node("Pad", "c p")], {**W, "p": ints(0, 0, 1, 2, 0, 0, 0, 1)}),
    Case("pad channels", [node("Conv", "x w", "c"), node("Pad", "c p")], {**W, "p": ints(0, 2, 0, 0, 0, 3, 0, 0)}),
    Case("pad and crop", [node("Conv", "x w", "c"), node("Pad", "c p")], {**W, "p": ints(0, 0, -1, 2, 0, 0, 1, -3)}),
    Case("pad reflected", [node("Conv", "x w", "c"), node("Pad", "c p", mode="reflect")], {**W, "p": ints(0, 0, 1, 1, 0, 0, 1, 1)},
         host=frozenset({"Pad"})),
    Case("channel shuffle", [
        node("Conv", "x w", "c"), node("Reshape", "c s", "r"), node("Transpose", "r", "t", perm=[0, 2, 1, 3, 4]), node("Reshape", "t u", "z"),
        node("Conv", "z k")],
        {**W, "s": ints(1, 2, 3, 9, 8), "u": ints(1, 6, 9, 8), "k": weights(6, 6, 1, 1)}),
    Case("depth to space", [node("Conv", "x w", "c"), node("DepthToSpace", "c", blocksize=2)], {"w": weights(12, 6, 1, 1)}),
    Case("depth to space CRD", [node("Conv", "x w", "c"), node("DepthToSpace", "c", blocksize=2, mode="CRD")], {"w": weights(12, 6, 1, 1)}),
    Case("space to depth", [node("Conv", "x w", "c"), node("SpaceToDepth", "c", blocksize=2)], W, (1, 6, 8, 10)),
    Case("pixel unshuffle", [
        node("Conv", "x w", "c"), node("Reshape", "c s", "r"), node("Transpose", "r", "t", perm=[0, 1, 3, 5, 2, 4]),
        node("Reshape", "t u", "z"), node("Conv", "z k")],
        {**W, "s": ints(1, 6, 4, 2, 5, 2), "u": ints(1, 24, 4, 5), "k": weights(5, 24, 1, 1)}, (1, 6, 8, 10)),
    Case("NHWC input", [node("Transpose", "x", "t", perm=[0, 3, 1, 2]), node("Conv", "t w")], {"w": weights(4, 3, 3, 3)}, (1, 9, 8, 3)),
    Case("boxes", [
        node("Conv", "x w", "c"), node("Transpose", "c", "t", perm=[0, 2, 3, 1]), node("Reshape", "t s", "r"),
        node("Conv", "x v", "d"), node("Transpose", "d", "u", perm=[0, 2, 3, 1]), node("Reshape", "u s", "q"), node("Concat", "r q", axis=1)],
        {**W, "s": ints(1, -1, 2)}),
    Case("transpose of space", [node("Conv", "x w", "c"), node("Transpose", "c", "t", perm=[0, 1, 3, 2]), node("Conv", "t v")], W,
         host=frozenset({"QLinearConv"})),
    Case("softmax", [node("Conv", "x w", "c"), node("Softmax", "c", axis=1)], W, host=frozenset({"Softmax"})),
]  # fmt: skip


def resize(name: str, factors: tuple[float, float], host: frozenset[str] = frozenset(), free: bool = True, **a: Any) -> Case:
    nodes = [node("Conv", "x w", "c"), node("Resize", "c _ f", **a)]
    return Case(f"resize {name}", nodes, {**W, "f": np.array([1, 1, *factors], np.float32)}, host=host, free=free)


ASYMMETRIC = {"coordinate_transformation_mode": "asymmetric"}
RESIZES = [
    resize("nearest 2", (2, 2), **ASYMMETRIC, nearest_mode="floor"),
    resize("nearest 3x1", (3, 1), mode="nearest"),
    resize("nearest half", (1 / 3, 0.5), **ASYMMETRIC, nearest_mode="floor"),
    resize("nearest 1.5", (1.5, 1.5), host=frozenset({"Resize"})),
    resize("linear 2", (2, 2), mode="linear"),
    resize("linear 4", (4, 4), mode="linear"),
    resize("linear 2 asymmetric", (2, 2), free=False, mode="linear", **ASYMMETRIC),
    resize("linear 2 align corners", (2, 2), mode="linear", coordinate_transformation_mode="align_corners", host=frozenset({"Resize"})),
    resize("cubic", (2, 2), mode="cubic", host=frozenset({"Resize"})),
    Case("upsample", [node("Conv", "x w", "c"), node("Upsample", "c f")], {**W, "f": np.array([1, 1, 2, 2], np.float32)}, opset=9),
    Case("resize by sizes", [node("Conv", "x w", "c"), node("Resize", "c _ _ s")], {**W, "s": ints(1, 6, 18, 16)}),
]

CASES = [*CONVOLUTIONS, *POOLS, *DENSE, *POINTWISE, *MOVES, *RESIZES]
IDS = [case.name for case in CASES]


def proto_of(case: Case) -> onnx.ModelProto:
    return model(case.nodes, case.shape, case.constants, case.outputs, case.opset)


@pytest.mark.parametrize("case", CASES, ids=IDS)
def test_power_of_two_scales_agree_in_every_bit(case: Case) -> None:
    found = imported(proto_of(case))
    check_exact(found)
    assert host_operators(found) == case.host


@pytest.mark.parametrize("case", [case for case in CASES if case.free], ids=lambda case: case.name)
def test_free_scales_differ_by_one_at_most_and_rarely(case: Case) -> None:
    check_counted(imported(proto_of(case), "free"))
