"""TFLite models: what each operator becomes, beside plain arithmetic; whole models on the machine."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import numpy as np
import pytest
from ai_edge_litert.interpreter import Interpreter
from numpy.typing import NDArray

from compiler.driver import compile_graph
from compiler.frontend.errors import ModelError
from compiler.frontend.pipeline import import_model
from compiler.frontend.reader import load
from compiler.frontend.session import run
from compiler.quantise.choices import INEXACT, Choices
from isa.config import preset
from sim.runtime.engine import FunctionalEngine
from sim.runtime.run import Run, run_on_cpu
from tests.compiler.frontend.tflite_models import Lite

Array = NDArray[Any]
NANO = preset("nano")
RNG = np.random.default_rng(5)
IMAGE = (1, 7, 9, 6)
SAME, VALID = 0, 1
RELU, RELU6 = 1, 3


def whole(*shape: int, most: int = 127) -> Array:
    return RNG.integers(-most, most + 1, shape).astype(np.int8)


def maps(lite: Lite, name: str, *shape: int, scale: float = 0.05, zero: int = 3) -> int:
    return lite.tensor(name, shape, scale=scale, zero=zero)


def conv(
    lite: Lite, x: int, kind: str = "CONV_2D", *, stride: int = 1, padding: int = SAME, dilation: int = 1, act: int = 0
) -> int:
    channels = 6
    depthwise = kind == "DEPTHWISE_CONV_2D"
    outs = channels * 2 if depthwise else 8
    scales = RNG.uniform(0.002, 0.01, outs).astype(np.float32)
    shape, axis = ((1, 3, 3, outs), 3) if depthwise else ((outs, 3, 3, channels), 0)
    w = lite.tensor("w", shape, scale=scales, axis=axis, data=whole(*shape))
    b = lite.tensor("b", [outs], "int32", scale=scales * np.float32(0.05), data=RNG.integers(-4000, 4000, outs))
    reach = 2 * dilation
    size = [-(-n // stride) if padding == SAME else -(-(n - reach) // stride) for n in IMAGE[1:3]]
    y = maps(lite, "y", 1, *size, outs, scale=0.04, zero=-128 if act else 5)
    options = {
        "Padding": padding, "StrideH": stride, "StrideW": stride, "DilationHFactor": dilation, "DilationWFactor": dilation,
        "FusedActivationFunction": act,
    }  # fmt: skip
    if depthwise:
        lite.op(kind, [x, w, b], [y], "DepthwiseConv2DOptions", DepthMultiplier=2, **options)
    else:
        lite.op(kind, [x, w, b], [y], "Conv2DOptions", **options)
    return y


def deconv(lite: Lite, x: int) -> int:
    w = lite.tensor("w", (4, 3, 3, 6), scale=0.01, data=whole(4, 3, 3, 6))
    size = lite.tensor("size", [4], "int32", data=np.array([1, 14, 18, 4]))
    y = maps(lite, "y", 1, 14, 18, 4)
    lite.op("TRANSPOSE_CONV", [size, w, x], [y], "TransposeConvOptions", Padding=SAME, StrideH=2, StrideW=2)
    return y


def dense(lite: Lite, x: int) -> int:
    f = maps(lite, "f", 1, 7 * 9 * 6)
    shape = lite.tensor("shape", [2], "int32", data=np.array([1, 378]))
    lite.op("RESHAPE", [x, shape], [f], "ReshapeOptions", NewShape=[1, 378])
    w = lite.tensor("w", (5, 378), scale=0.004, data=whole(5, 378))
    b = lite.tensor("b", [5], "int32", scale=0.0002, data=RNG.integers(-4000, 4000, 5))
    y = maps(lite, "y", 1, 5)
    lite.op("FULLY_CONNECTED", [f, w, b], [y], "FullyConnectedOptions")
    return y


def pool(lite: Lite, x: int, kind: str) -> int:
    """An average keeps its scale, as a maximum does."""
    y = maps(lite, "y", 1, 4, 5, 6)
    lite.op(kind, [x], [y], "Pool2DOptions", Padding=SAME, StrideH=2, StrideW=2, FilterHeight=3, FilterWidth=3)
    return y


def mean(lite: Lite, x: int, keep: bool) -> int:
    axes = lite.tensor("axes", [2], "int32", data=np.array([1, 2]))
    y = maps(lite, "y", *((1, 1, 1, 6) if keep else (1, 6)), scale=0.02)
    lite.op("MEAN", [x, axes], [y], "ReducerOptions", KeepDims=keep)
    return y


def pair(lite: Lite, x: int, kind: str, options: str, *, by_channel: bool = False) -> int:
    """With a constant for each channel, or with a function of the same map."""
    if by_channel:
        other = lite.tensor("other", [6], scale=0.03, zero=-4, data=whole(6))
    else:
        other = maps(lite, "other", *IMAGE, scale=0.03, zero=-4)
        lite.op("LEAKY_RELU", [x], [other], "LeakyReluOptions", Alpha=0.25)
    y = maps(lite, "y", *IMAGE, scale=0.07)
    lite.op(kind, [x, other], [y], options, **({"FusedActivationFunction": RELU} if kind == "ADD" else {}))
    return y


def function(lite: Lite, x: int, kind: str, scale: float = 1 / 256, zero: int = -128, options: str = "", **fields: Any) -> int:
    y = maps(lite, "y", *IMAGE, scale=scale, zero=zero)
    lite.op(kind, [x], [y], options, **fields)
    return y


def pad(lite: Lite, x: int) -> int:
    sides = lite.tensor("sides", [4, 2], "int32", data=np.array([[0, 0], [1, 2], [3, 0], [0, 0]]))
    y = maps(lite, "y", 1, 10, 12, 6)
    lite.op("PAD", [x, sides], [y], "PadOptions")
    return y


def concat(lite: Lite, x: int) -> int:
    h = maps(lite, "h", *IMAGE)
    lite.op("RELU", [x], [h])
    y = maps(lite, "y", 1, 7, 9, 12)
    lite.op("CONCATENATION", [x, h], [y], "ConcatenationOptions", Axis=3)
    return y


def resize(lite: Lite, x: int, kind: str, options: str, **fields: bool) -> int:
    size = lite.tensor("size", [2], "int32", data=np.array([14, 18]))
    y = maps(lite, "y", 1, 14, 18, 6)
    lite.op(kind, [x, size], [y], options, **fields)
    return y


def part(lite: Lite, x: int) -> int:
    h = maps(lite, "h", *IMAGE)
    lite.op("RELU", [x], [h])
    values = {"begin": [0, 1, 2, 0], "end": [1, 6, 9, 6], "step": [1, 2, 1, 1]}
    bounds = [lite.tensor(name, [4], "int32", data=np.array(value)) for name, value in values.items()]
    y = maps(lite, "y", 1, 3, 7, 6)
    lite.op("STRIDED_SLICE", [h, *bounds], [y], "StridedSliceOptions")
    return y


OPERATORS: Mapping[str, Callable[[Lite, int], int]] = {
    "convolution": conv,
    "strided convolution": partial(conv, stride=2, act=RELU6),
    "dilated convolution": partial(conv, padding=VALID, dilation=2, act=RELU),
    "depthwise": partial(conv, kind="DEPTHWISE_CONV_2D", stride=2, act=RELU6),
    "deconvolution": deconv,
    "dense": dense,
    "average": partial(pool, kind="AVERAGE_POOL_2D"),
    "maximum": partial(pool, kind="MAX_POOL_2D"),
    "mean of maps": partial(mean, keep=True),
    "mean": partial(mean, keep=False),
    "add": partial(pair, kind="ADD", options="AddOptions"),
    "multiply": partial(pair, kind="MUL", options="MulOptions", by_channel=True),
    "subtract": partial(pair, kind="SUB", options="SubOptions"),
    "logistic": partial(function, kind="LOGISTIC"),
    "hard swish": partial(function, kind="HARD_SWISH", scale=0.05, zero=0),
    "leaky": partial(function, kind="LEAKY_RELU", scale=0.05, zero=0, options="LeakyReluOptions", Alpha=0.1),
    "relu6": partial(function, kind="RELU6", scale=6 / 255),
    "pad": pad,
    "concat": concat,
    "nearest": partial(resize, kind="RESIZE_NEAREST_NEIGHBOR", options="ResizeNearestNeighborOptions", HalfPixelCenters=True),
    "bilinear": partial(resize, kind="RESIZE_BILINEAR", options="ResizeBilinearOptions", HalfPixelCenters=True),
    "part": part,
    "softmax": partial(function, kind="SOFTMAX", options="SoftmaxOptions", Beta=1.0),
}
ON_CPU = {"softmax"}
COUNTED = {"average", "bilinear", "deconvolution"}
"""Of which no constants follow onnxruntime's float arithmetic in all cases."""


def built(make: Callable[[Lite, int], int]) -> bytes:
    lite = Lite()
    x = maps(lite, "x", *IMAGE)
    return lite.model([x], [make(lite, x)])


def image() -> dict[str, Array]:
    return {"x": whole(*IMAGE)}


@pytest.mark.parametrize("name", OPERATORS)
def test_on_the_machine_as_onnxruntime_computes(name: str) -> None:
    found = import_model(built(OPERATORS[name]), choices=Choices(follow=INEXACT))
    assert bool(found.reasons) == (name in ON_CPU), found.reasons
    program = compile_graph(found, NANO, strategy="naive").program
    feeds = image()
    made, expected = Run(program, FunctionalEngine(NANO))(feeds)["y"], run_on_cpu(program, feeds)["y"]
    assert np.abs(made.astype(int) - expected).max() <= (name in COUNTED)
    assert (made != expected).mean() < 0.05


@pytest.mark.parametrize("name", OPERATORS)
def test_at_most_a_step_from_its_interpreter(name: str) -> None:
    """Which rounds twice where onnxruntime rounds once, and has tables of its own."""
    data = built(OPERATORS[name])
    interpreter = Interpreter(model_content=data)
    interpreter.allocate_tensors()
    feeds = image()
    interpreter.set_tensor(interpreter.get_input_details()[0]["index"], feeds["x"])
    interpreter.invoke()
    theirs = interpreter.get_tensor(interpreter.get_output_details()[0]["index"])
    mine = run(load(data), feeds)["y"]
    assert mine.shape == theirs.shape
    assert np.abs(mine.astype(int) - theirs).max() <= 1


def test_a_float_model_is_quantised_here() -> None:
    lite = Lite()
    x, y = lite.tensor("x", IMAGE, "float32"), lite.tensor("y", (1, 7, 9, 8), "float32")
    w = lite.tensor("w", (8, 3, 3, 6), "float32", data=RNG.normal(0, 0.2, (8, 3, 3, 6)))
    b = lite.tensor("b", [8], "float32", data=RNG.normal(0, 1, 8))
    options = {"Padding": SAME, "StrideH": 1, "StrideW": 1, "FusedActivationFunction": RELU}
    lite.op("CONV_2D", [x, w, b], [y], "Conv2DOptions", **options)
    found = import_model(lite.model([x], [y]), calibration={"x": RNG.normal(0, 1, (2, *IMAGE[1:])).astype(np.float32)})
    assert [type(op).__name__ for op in found.graph.ops] == ["Cpu", "Conv", "Cpu"], "the borders alone are on the CPU"


def test_damaged_files_and_unknown_operators_are_refused() -> None:
    data = built(conv)
    with pytest.raises(ModelError, match="are not a whole TFLite model"):
        load(data[:200])
    with pytest.raises(ModelError, match="operator CUMSUM, which makes y, is not known; expected are ABS, ADD"):
        load(built(partial(function, kind="CUMSUM")))
