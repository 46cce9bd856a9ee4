"""TFLite files that leave sizes open: those that are asked for, by name or by calibration arrays, beside its interpreter."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from ai_edge_litert.interpreter import Interpreter

from compiler.frontend.errors import ModelError
from compiler.frontend.pipeline import import_model
from compiler.frontend.reader import load, read
from compiler.frontend.session import run
from tests.compiler.frontend.test_tflite_operators import RNG, SAME
from tests.compiler.frontend.tflite_models import Lite

Shape = tuple[int, ...]
OPEN = (1, -1, -1, 4)
FILE = (1, 1, 1, 4)
Build = Callable[[Lite, int], int]


def conv(lite: Lite, x: int) -> int:
    w = lite.tensor("w", (6, 3, 3, 4), "float32", data=RNG.normal(size=(6, 3, 3, 4)))
    b = lite.tensor("b", [6], "float32", data=RNG.normal(size=6))
    y = lite.tensor("y", (1, 1, 1, 6), "float32")
    lite.op("CONV_2D", [x, w, b], [y], "Conv2DOptions", Padding=SAME, StrideH=2, StrideW=2)
    return y


def flat(lite: Lite, x: int) -> int:
    """All that is there in rows of eight, and a dense layer."""
    rows, y = lite.tensor("rows", (1, 8), "float32"), lite.tensor("y", (1, 3), "float32")
    shape = lite.tensor("shape", [2], "int32", data=np.array([-1, 8]))
    w = lite.tensor("w", (3, 8), "float32", data=RNG.normal(size=(3, 8)))
    lite.op("RESHAPE", [x, shape], [rows], "ReshapeOptions")
    lite.op("FULLY_CONNECTED", [rows, w], [y], "FullyConnectedOptions")
    return y


def sized(lite: Lite, x: int) -> int:
    """Resized to twice the size that it has, which is computed."""
    shape, sides = lite.tensor("shape", [4], "int32"), lite.tensor("sides", [2], "int32")
    twice, two = lite.tensor("twice", [2], "int32"), lite.tensor("two", [], "int32", data=np.array(2))
    bounds = [lite.tensor(name, [1], "int32", data=np.array([value])) for name, value in zip("abs", (1, 3, 1), strict=True)]
    y = lite.tensor("y", (1, 2, 2, 4), "float32")
    lite.op("SHAPE", [x], [shape], "ShapeOptions", OutType=2)
    lite.op("STRIDED_SLICE", [shape, *bounds], [sides], "StridedSliceOptions")
    lite.op("MUL", [sides, two], [twice], "MulOptions")
    lite.op("RESIZE_NEAREST_NEIGHBOR", [x, twice], [y], "ResizeNearestNeighborOptions")
    return y


def halves(lite: Lite, x: int) -> int:
    """The columns in two parts, added, with a dimension more, and with it gone."""
    axis = lite.tensor("axis", [], "int32", data=np.array(2))
    parts = [lite.tensor(name, FILE, "float32") for name in "ab"]
    added, more, y = (lite.tensor(n, s, "float32") for n, s in (("c", FILE), ("d", (1, 1, 1, 1, 4)), ("y", FILE)))
    lite.op("SPLIT", [axis, x], parts, "SplitOptions", NumSplits=2)
    lite.op("ADD", parts, [added], "AddOptions")
    lite.op("EXPAND_DIMS", [added, axis], [more])
    lite.op("SQUEEZE", [more], [y], "SqueezeOptions", SqueezeDims=[2])
    return y


def built(build: Build) -> bytes:
    lite = Lite()
    x = lite.tensor("x", FILE, "float32", signature=OPEN)
    return lite.model([x], [build(lite, x)])


@pytest.mark.parametrize("build", [conv, flat, sized, halves])
def test_sizes_that_are_asked_for(build: Build) -> None:
    data = built(build)
    x = RNG.normal(size=(1, 6, 8, 4)).astype(np.float32)
    interpreter = Interpreter(model_content=data)
    interpreter.resize_tensor_input(0, x.shape)
    interpreter.allocate_tensors()
    interpreter.set_tensor(0, x)
    interpreter.invoke()
    expected = interpreter.get_tensor(interpreter.get_output_details()[0]["index"])
    proto = load(data, {"x": x.shape})
    assert [dim.dim_value for dim in proto.graph.output[0].type.tensor_type.shape.dim] == [*expected.shape]
    assert np.allclose(run(proto, {"x": x})["y"], expected, rtol=1e-4, atol=1e-5)


def test_sizes_of_calibration_arrays() -> None:
    found = import_model(built(conv), calibration={"x": RNG.normal(size=(3, 6, 8, 4)).astype(np.float32)})
    assert found.model is not None
    assert found.model.shape("x") == (1, 6, 8, 4)


def test_sizes_that_nobody_asks_for_are_open() -> None:
    with pytest.raises(ModelError, match=r"dimension 1 is free .* or give --shape"):
        read(built(conv))


@pytest.mark.parametrize(("build", "told"), [(flat, "12 values are put into it"), (halves, "do not go together")])
def test_sizes_that_do_not_go_together(build: Build, told: str) -> None:
    with pytest.raises(ModelError, match=told):
        read(built(build), shapes={"x": (1, 1, 3, 4)})
