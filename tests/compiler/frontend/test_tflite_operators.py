"""Operators of TFLite in float, in all their forms: what they become beside the interpreter of TFLite."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from ai_edge_litert.interpreter import Interpreter
from numpy.typing import NDArray

from compiler.frontend.errors import ModelError
from compiler.frontend.reader import load
from compiler.frontend.session import run
from tests.compiler.frontend.tflite_models import Lite

Array = NDArray[Any]
RNG = np.random.default_rng(11)
IMAGE = (1, 5, 6, 4)
SAME, VALID = 0, 1
NONE, RELU, RELU_N1_TO_1, RELU6, TANH, SIGN_BIT = range(6)


def check(lite: Lite, inputs: list[int], outputs: list[int], feeds: dict[str, Array]) -> None:
    """Shapes, types and values of all outputs are the interpreter's."""
    data = lite.model(inputs, outputs)
    interpreter = Interpreter(model_content=data)
    interpreter.allocate_tensors()
    for place, value in zip(interpreter.get_input_details(), feeds.values(), strict=True):
        interpreter.set_tensor(place["index"], value)
    interpreter.invoke()
    mine = run(load(data), feeds)
    for place in interpreter.get_output_details():
        theirs = interpreter.get_tensor(place["index"])
        found = mine[place["name"]]
        assert (found.shape, found.dtype) == (theirs.shape, theirs.dtype)
        assert np.allclose(found, theirs, rtol=1e-4, atol=1e-5), place["name"]


def one(
    kind: str, shape: tuple[int, ...], result: tuple[int, ...], *constants: Any, options: str = "", before: bool = False,
    low: float = -3.0, high: float = 3.0, dtype: str = "float32", **fields: Any,
) -> None:  # fmt: skip
    """One operator on one map; ``constants``: what else it reads, ``before`` the map or behind it."""
    lite = Lite()
    x = lite.tensor("x", shape, "float32")
    known = []
    for number, value in enumerate(constants):
        array = np.array(value)
        array = array.astype(np.int32 if array.dtype.kind == "i" else np.float32)
        known.append(lite.tensor(f"k{number}", array.shape, array.dtype.name, data=array))
    y = lite.tensor("y", result, dtype)
    lite.op(kind, [*known, x] if before else [x, *known], [y], options, **fields)
    check(lite, [x], [y], {"x": RNG.uniform(low, high, shape).astype(np.float32)})


@pytest.mark.parametrize("shape", [IMAGE, (2, 7)])
@pytest.mark.parametrize(
    "kind",
    [
        "ABS", "CEIL", "COS", "ELU", "EXP", "FLOOR", "HARD_SWISH", "LOGISTIC", "NEG", "RELU", "RELU6", "RELU_N1_TO_1",
        "RELU_0_TO_1", "ROUND", "SIGN", "SIN", "SQUARE", "TANH",
    ],
)  # fmt: skip
def test_functions(kind: str, shape: tuple[int, ...]) -> None:
    one(kind, shape, shape, low=-8, high=8)


@pytest.mark.parametrize("kind", ["LOG", "SQRT", "RSQRT"])
def test_functions_of_positive_numbers(kind: str) -> None:
    one(kind, IMAGE, IMAGE, low=0.1)


@pytest.mark.parametrize("approximate", [False, True])
def test_gelu(approximate: bool) -> None:
    one("GELU", IMAGE, IMAGE, options="GeluOptions", Approximate=approximate)


def test_leaky() -> None:
    one("LEAKY_RELU", IMAGE, IMAGE, options="LeakyReluOptions", Alpha=0.3)


@pytest.mark.parametrize("activation", [NONE, RELU, RELU_N1_TO_1, RELU6])
@pytest.mark.parametrize("kind", ["ADD", "SUB", "MUL", "DIV"])
@pytest.mark.parametrize("other", [(4,), (), (6, 4), (1, 5, 6, 1)])
def test_of_two(kind: str, other: tuple[int, ...], activation: int) -> None:
    options = f"{kind.capitalize()}Options"
    value = RNG.uniform(0.5, 2, other)
    one(kind, IMAGE, IMAGE, value, options=options, FusedActivationFunction=activation, low=-9, high=9)


@pytest.mark.parametrize("kind", ["MAXIMUM", "MINIMUM", "PRELU", "SQUARED_DIFFERENCE"])
def test_of_two_without_activation(kind: str) -> None:
    """The options of maxima and minima have no field for one."""
    options = {"MAXIMUM": "MaximumMinimumOptions", "MINIMUM": "MaximumMinimumOptions"}.get(kind, "")
    other = RNG.uniform(-1, 1, (1, 1, 4) if kind == "PRELU" else (5, 6, 4))
    one(kind, IMAGE, IMAGE, other, options=options)


def test_of_two_maps_of_three_dimensions() -> None:
    one("ADD", (2, 3, 4), (2, 3, 4), RNG.uniform(0, 1, 4), options="AddOptions")


@pytest.mark.parametrize("kind", ["MEAN", "SUM", "REDUCE_MAX", "REDUCE_MIN", "REDUCE_PROD"])
@pytest.mark.parametrize("keep", [False, True])
@pytest.mark.parametrize("axes", [[1, 2], [2, 1], [3], [-1], [1], [1, 2, 3]])
def test_reductions(kind: str, axes: list[int], keep: bool) -> None:
    whole = [axis % 4 for axis in axes]
    shape = tuple(1 if axis in whole else size for axis, size in enumerate(IMAGE) if keep or axis not in whole)
    one(kind, IMAGE, shape, np.array(axes), options="ReducerOptions", KeepDims=keep, low=0.5, high=1.5)


@pytest.mark.parametrize("axis", [0, 1])
def test_reductions_of_rows(axis: int) -> None:
    one("SUM", (3, 5), (5,) if axis == 0 else (3,), np.array([axis]), options="ReducerOptions", KeepDims=False)


@pytest.mark.parametrize("beta", [1.0, 0.5])
def test_softmax(beta: float) -> None:
    one("SOFTMAX", (3, 7), (3, 7), options="SoftmaxOptions", Beta=beta)
    one("SOFTMAX", IMAGE, IMAGE, options="SoftmaxOptions", Beta=beta)


def test_log_softmax() -> None:
    one("LOG_SOFTMAX", (3, 7), (3, 7))


def test_length_of_one() -> None:
    one("L2_NORMALIZATION", IMAGE, IMAGE, options="L2NormOptions")


@pytest.mark.parametrize("kind", ["ARG_MAX", "ARG_MIN"])
@pytest.mark.parametrize("axis", [1, 3, -1])
def test_indices_of_the_greatest(kind: str, axis: int) -> None:
    shape = tuple(size for place, size in enumerate(IMAGE) if place != axis % 4)
    one(kind, IMAGE, shape, np.array([axis]), options=f"Arg{kind[4:].capitalize()}Options", OutputType=2, dtype="int32")


@pytest.mark.parametrize(("left", "right"), [(False, False), (True, False), (False, True), (True, True)])
def test_products_of_matrices(left: bool, right: bool) -> None:
    lite = Lite()
    shapes = (2, 5, 3) if left else (2, 3, 5), (2, 4, 5) if right else (2, 5, 4)
    a, b = (lite.tensor(name, shape, "float32") for name, shape in zip("ab", shapes, strict=True))
    y = lite.tensor("y", (2, 3, 4), "float32")
    lite.op("BATCH_MATMUL", [a, b], [y], "BatchMatMulOptions", AdjX=left, AdjY=right)
    check(lite, [a, b], [y], {name: RNG.uniform(-1, 1, s).astype(np.float32) for name, s in zip("ab", shapes, strict=True)})


@pytest.mark.parametrize("shape", [IMAGE, (3, 4)])
def test_casts(shape: tuple[int, ...]) -> None:
    one("CAST", shape, shape, options="CastOptions", InDataType=0, OutDataType=2, dtype="int32", high=99)


SIDES = [[0, 0], [1, 2], [3, 0], [0, 1]]


def padded(shape: tuple[int, ...], sides: list[list[int]]) -> tuple[int, ...]:
    return tuple(size + sum(side) for size, side in zip(shape, sides, strict=True))


def test_pads() -> None:
    one("PAD", IMAGE, padded(IMAGE, SIDES), np.array(SIDES), options="PadOptions")
    one("PAD", (3, 4), padded((3, 4), SIDES[1:3]), np.array(SIDES[1:3]), options="PadOptions")
    one("PADV2", IMAGE, padded(IMAGE, SIDES), np.array(SIDES), np.array([0.75]), options="PadV2Options")
    reflected = [[0, 0], [1, 2], [3, 0], [0, 0]]
    one("MIRROR_PAD", IMAGE, padded(IMAGE, reflected), np.array(reflected), options="MirrorPadOptions", Mode=0)


def test_pads_that_repeat_the_edge_are_refused() -> None:
    sides = np.array([[0, 0], [1, 1], [1, 1], [0, 0]])
    with pytest.raises(ModelError, match="pads repeat the edge"):
        one("MIRROR_PAD", IMAGE, padded(IMAGE, sides.tolist()), sides, options="MirrorPadOptions", Mode=1)


@pytest.mark.parametrize(("shape", "axis"), [(IMAGE, 3), (IMAGE, 1), (IMAGE, 2), (IMAGE, -1), ((3, 4), 1), ((3, 4), 0)])
def test_concatenations_and_stacks(shape: tuple[int, ...], axis: int) -> None:
    feeds = {name: RNG.uniform(-9, 9, shape).astype(np.float32) for name in "ab"}
    forms: list[tuple[str, str, dict[str, Any]]] = [
        ("CONCATENATION", "ConcatenationOptions", {"FusedActivationFunction": NONE}),
        ("CONCATENATION", "ConcatenationOptions", {"FusedActivationFunction": RELU6}),
        ("PACK", "PackOptions", {"ValuesCount": 2}),
    ]
    for kind, options, fields in forms:
        lite = Lite()
        a, b = (lite.tensor(name, shape, "float32") for name in "ab")
        join = np.stack if kind == "PACK" else np.concatenate
        y = lite.tensor("y", join([*feeds.values()], axis).shape, "float32")
        lite.op(kind, [a, b], [y], options, Axis=axis, **fields)
        if fields != {"FusedActivationFunction": RELU6}:
            check(lite, [a, b], [y], feeds)
            continue
        # Its interpreter has no activation behind a concatenation.
        found = run(load(lite.model([a, b], [y])), feeds)["y"]
        assert np.array_equal(found, np.clip(np.concatenate([*feeds.values()], axis), 0, 6))


@pytest.mark.parametrize(("shape", "axis"), [((1, 4, 6, 8), 3), ((1, 4, 6, 8), 1), ((1, 4, 6, 8), -2), ((4, 6), 1)])
@pytest.mark.parametrize("sizes", [None, (1, 3)])
def test_splits(shape: tuple[int, ...], axis: int, sizes: tuple[int, ...] | None) -> None:
    lite = Lite()
    x = lite.tensor("x", shape, "float32")
    where = lite.tensor("axis", [] if sizes is None else [1], "int32", data=np.array(axis))
    full = shape[axis]
    parts = (full // 2, full // 2) if sizes is None else (sizes[0], full - sizes[0])
    outputs = []
    for number, part in enumerate(parts):
        result = list(shape)
        result[axis] = part
        outputs.append(lite.tensor(f"y{number}", result, "float32"))
    if sizes is None:
        lite.op("SPLIT", [where, x], outputs, "SplitOptions", NumSplits=2)
    else:
        lengths = lite.tensor("sizes", [2], "int32", data=np.array(parts))
        lite.op("SPLIT_V", [x, lengths, where], outputs, "SplitVOptions", NumSplits=2)
    check(lite, [x], outputs, {"x": RNG.uniform(-1, 1, shape).astype(np.float32)})


def test_slices() -> None:
    one("SLICE", IMAGE, (1, 3, 4, 4), np.array([0, 1, 2, 0]), np.array([1, 3, 4, -1]), options="SliceOptions")
    one("SLICE", (3, 4), (2, 3), np.array([1, 1]), np.array([-1, 3]), options="SliceOptions")


@pytest.mark.parametrize(
    ("begin", "end", "step", "masks", "take"),
    [
        ([0, 1, 2, 0], [1, 4, 6, 4], [1, 2, 1, 3], (0, 0, 0), np.s_[0:1, 1:4:2, 2:6, 0:4:3]),
        ([0, 9, 1, 0], [1, 4, 9, 2], [1, 1, 2, 1], (0b0010, 0b0100, 0), np.s_[0:1, :4, 1::2, 0:2]),
        ([0, -4, 0, -3], [1, -1, 6, -1], [1, 1, 1, 1], (0, 0, 0), np.s_[0:1, -4:-1, 0:6, -3:-1]),
        ([0, 4, 5, 0], [1, 0, 0, 4], [1, -1, -2, 1], (0, 0b0100, 0), np.s_[0:1, 4:0:-1, 5::-2, 0:4]),
        ([0, 1, 5, 0], [1, 0, 1, 4], [1, -1, -1, 1], (0b0010, 0, 0), np.s_[0:1, :0:-1, 5:1:-1, 0:4]),
        ([0, 2, 0, 0], [1, 9, 6, 4], [1, 1, 1, 1], (0, 0, 0b0010), np.s_[0:1, 2, 0:6, 0:4]),
        ([0, 0, -1, 1], [1, 5, 9, 2], [1, 1, 1, 1], (0, 0, 0b1101), np.s_[0, 0:5, -1, 1]),
        ([0, 1], [1, 4], [1, 1], (0, 0, 0), np.s_[0:1, 1:4]),
    ],
)  # fmt: skip
def test_slices_with_steps_and_masks(
    begin: list[int], end: list[int], step: list[int], masks: tuple[int, int, int], take: Any
) -> None:
    shape = np.zeros(IMAGE)[take].shape
    fields: dict[str, Any] = dict(zip(("BeginMask", "EndMask", "ShrinkAxisMask"), masks, strict=True))
    one("STRIDED_SLICE", IMAGE, shape, *map(np.array, (begin, end, step)), options="StridedSliceOptions", **fields)


@pytest.mark.parametrize("mask", ["EllipsisMask", "NewAxisMask"])
def test_slices_with_an_ellipsis_or_new_axes_are_refused(mask: str) -> None:
    bounds = [np.array(values) for values in ([0, 1, 2, 0], [1, 4, 6, 4], [1, 1, 1, 1])]
    fields: dict[str, Any] = {mask: 1}
    with pytest.raises(ModelError, match="an ellipsis or new axes"):
        one("STRIDED_SLICE", IMAGE, (1, 3, 4, 4), *bounds, options="StridedSliceOptions", **fields)


@pytest.mark.parametrize("size", [(10, 12), (15, 18), (3, 3), (9, 11)])
@pytest.mark.parametrize(("corners", "centres"), [(False, False), (False, True), (True, False)])
@pytest.mark.parametrize("kind", ["RESIZE_BILINEAR", "RESIZE_NEAREST_NEIGHBOR"])
def test_resizes(kind: str, corners: bool, centres: bool, size: tuple[int, int]) -> None:
    options = "ResizeBilinearOptions" if "LINEAR" in kind else "ResizeNearestNeighborOptions"
    one(kind, IMAGE, (1, *size, 4), np.array(size), options=options, AlignCorners=corners, HalfPixelCenters=centres)


def test_space_and_depth() -> None:
    one("SPACE_TO_DEPTH", (1, 4, 6, 3), (1, 2, 3, 12), options="SpaceToDepthOptions", BlockSize=2)
    one("DEPTH_TO_SPACE", (1, 2, 3, 12), (1, 4, 6, 3), options="DepthToSpaceOptions", BlockSize=2)


def test_other_shapes_and_orders() -> None:
    one("TRANSPOSE", IMAGE, (1, 4, 5, 6), np.array([0, 3, 1, 2]), options="TransposeOptions")
    one("RESHAPE", IMAGE, (6, 20), np.array([6, 20]), options="ReshapeOptions", NewShape=[6, 20])
    one("SQUEEZE", (1, 5, 1, 4), (5, 4), options="SqueezeOptions", SqueezeDims=[0, 2])
    one("EXPAND_DIMS", (5, 4), (5, 1, 4), np.array([1]), options="ExpandDimsOptions")
    one("GATHER", IMAGE, (1, 5, 3, 4), np.array([4, 0, 4]), options="GatherOptions", Axis=2)


POOLS = [
    ("AVERAGE_POOL_2D", SAME, 2, (1, 3, 3, 4)), ("AVERAGE_POOL_2D", VALID, 1, (1, 3, 5, 4)),
    ("MAX_POOL_2D", SAME, 2, (1, 3, 3, 4)), ("MAX_POOL_2D", VALID, 2, (1, 2, 3, 4)),
]  # fmt: skip


@pytest.mark.parametrize("activation", [NONE, RELU, RELU6])
@pytest.mark.parametrize(("kind", "padding", "stride", "result"), POOLS)
def test_pools(kind: str, padding: int, stride: int, result: tuple[int, ...], activation: int) -> None:
    fields: dict[str, Any] = {"StrideH": stride, "StrideW": stride, "FilterHeight": 3, "FilterWidth": 2, "Padding": padding}
    one(kind, IMAGE, result, options="Pool2DOptions", **fields, FusedActivationFunction=activation, low=-9, high=9)


def biased(outputs: int, bias: bool) -> list[Array]:
    return [RNG.uniform(-1, 1, outputs)] if bias else []


@pytest.mark.parametrize("padding", [SAME, VALID])
@pytest.mark.parametrize("channels", [4, 2])
def test_convolutions(channels: int, padding: int) -> None:
    """Also in groups: the weights have fewer channels than the map."""
    result = (1, 3, 6, 6) if padding == SAME else (1, 2, 3, 6)
    fields: dict[str, Any] = {"Padding": padding, "StrideH": 2, "StrideW": 1, "DilationHFactor": 1, "DilationWFactor": 1}
    kernel = RNG.uniform(-1, 1, (6, 3, 4, channels))
    one("CONV_2D", IMAGE, result, kernel, *biased(6, True), options="Conv2DOptions", **fields, FusedActivationFunction=RELU6)


def test_dilated_depthwise_convolutions() -> None:
    fields: dict[str, Any] = {"StrideH": 1, "StrideW": 1, "DilationHFactor": 2, "DilationWFactor": 1, "DepthMultiplier": 2}
    kernel = RNG.uniform(-1, 1, (1, 3, 2, 8))
    options: dict[str, Any] = {"options": "DepthwiseConv2DOptions", **fields}
    one("DEPTHWISE_CONV_2D", IMAGE, (1, 5, 6, 8), kernel, *biased(8, True), Padding=SAME, **options)
    one("DEPTHWISE_CONV_2D", IMAGE, (1, 1, 5, 8), kernel, *biased(8, True), Padding=VALID, **options)


@pytest.mark.parametrize("bias", [False, True])
@pytest.mark.parametrize(
    ("padding", "stride", "kernel", "size"),
    [(SAME, 2, 3, (10, 12)), (SAME, 2, 3, (9, 11)), (VALID, 2, 3, (11, 13)), (VALID, 1, 2, (6, 7)), (SAME, 3, 2, (15, 18))],
)
def test_transposed_convolutions(padding: int, stride: int, kernel: int, size: tuple[int, int], bias: bool) -> None:
    lite = Lite()
    x = lite.tensor("x", IMAGE, "float32")
    shape = lite.tensor("size", [4], "int32", data=np.array([1, *size, 3]))
    w = lite.tensor("w", (3, kernel, kernel, 4), "float32", data=RNG.uniform(-1, 1, (3, kernel, kernel, 4)))
    more = [lite.tensor("b", [3], "float32", data=RNG.uniform(-1, 1, 3))] if bias else []
    y = lite.tensor("y", (1, *size, 3), "float32")
    fields: dict[str, Any] = {"Padding": padding, "StrideH": stride, "StrideW": stride}
    lite.op("TRANSPOSE_CONV", [shape, w, x, *more], [y], "TransposeConvOptions", **fields)
    check(lite, [x], [y], {"x": RNG.uniform(-1, 1, IMAGE).astype(np.float32)})


@pytest.mark.parametrize("bias", [False, True])
def test_dense_layers(bias: bool) -> None:
    kernel = RNG.uniform(-1, 1, (3, 4))
    one("FULLY_CONNECTED", (2, 4), (2, 3), kernel, *biased(3, bias), options="FullyConnectedOptions")
    fields: dict[str, Any] = {"KeepNumDims": True, "FusedActivationFunction": RELU}
    one("FULLY_CONNECTED", IMAGE, (*IMAGE[:3], 3), kernel, *biased(3, bias), options="FullyConnectedOptions", **fields)
    wide = RNG.uniform(-1, 1, (3, 24))
    one("FULLY_CONNECTED", IMAGE, (5, 3), wide, *biased(3, bias), options="FullyConnectedOptions")


def test_an_activation_that_is_not_known_is_refused() -> None:
    with pytest.raises(ModelError, match="activation SIGN_BIT is not known"):
        one("ADD", IMAGE, IMAGE, 1.0, options="AddOptions", FusedActivationFunction=SIGN_BIT)


def test_a_chain_reads_maps_in_both_orders() -> None:
    """A map of four dimensions is given to an operator on images and to one on rows, and is an output, too."""
    lite = Lite()
    x, y = (lite.tensor(name, IMAGE, "float32") for name in "xy")
    made = {"pooled": (1, 2, 3, 4), "rows": (30, 4), "sums": IMAGE}
    pooled, rows, sums = (lite.tensor(name, shape, "float32") for name, shape in made.items())
    lite.op("TANH", [x], [y])
    fields: dict[str, Any] = {"StrideH": 2, "StrideW": 2, "FilterHeight": 2, "FilterWidth": 2, "Padding": VALID}
    lite.op("MAX_POOL_2D", [y], [pooled], "Pool2DOptions", **fields)
    target = lite.tensor("shape", [2], "int32", data=np.array([30, 4]))
    lite.op("RESHAPE", [y, target], [rows], "ReshapeOptions", NewShape=[30, 4])
    lite.op("ADD", [y, x], [sums], "AddOptions")
    check(lite, [x], [y, pooled, rows, sums], {"x": RNG.uniform(-1, 1, IMAGE).astype(np.float32)})
