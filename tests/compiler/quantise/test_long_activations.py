"""Float models whose layers and averages are given activations of 16 bits."""

from __future__ import annotations

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

from compiler.driver import Compiled
from compiler.frontend.model import to_proto
from compiler.frontend.session import run
from compiler.quantise.choices import Choices
from compiler.quantise.statistics import CalibrationError
from compiler.xgraph.long_conv import LongConv
from compiler.xgraph.ops import Conv, Pool
from tests.compiler.frontend.long_models import LONG
from tilewright.checking import check
from tilewright.compiling import compile_model
from tilewright.inputs import random_inputs

RNG = np.random.default_rng(5)
DATA = {"x": RNG.normal(0, 1, (4, 3, 8, 8)).astype(np.float32)}


def network() -> onnx.ModelProto:
    """Two convolutions, a maximum, a convolution, and a dense layer on all of its map."""
    shapes = (6, 3, 3, 3), (5, 6, 1, 1), (4, 5, 3, 3)
    held = {f"w{n}": RNG.normal(0, 0.3, shape).astype(np.float32) for n, shape in enumerate(shapes)}
    held |= {"matrix": RNG.normal(0, 0.2, (64, 10)).astype(np.float32), "b0": RNG.normal(0, 1, 6).astype(np.float32)}
    node = helper.make_node
    nodes = [
        node("Conv", ["x", "w0", "b0"], ["a"], name="first", pads=[1] * 4), node("Relu", ["a"], ["ar"], name="clamp"),
        node("Conv", ["ar", "w1"], ["b"], name="second"),
        node("MaxPool", ["b"], ["c"], name="pool", kernel_shape=[2, 2], strides=[2, 2]),
        node("Conv", ["c", "w2"], ["d"], name="third", pads=[1] * 4), node("Flatten", ["d"], ["f"], name="flat"),
        node("Gemm", ["f", "matrix"], ["y"], name="head"),
    ]  # fmt: skip
    x = helper.make_tensor_value_info("x", TensorProto.FLOAT, (1, 3, 8, 8))
    y = helper.make_tensor_value_info("y", TensorProto.FLOAT, (1, 10))
    graph = helper.make_graph(nodes, "net", [x], [y], [numpy_helper.from_array(v, k) for k, v in held.items()])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=8)


NETWORK = network()


def compiled(**choices: object) -> Compiled:
    return compile_model(NETWORK, LONG, cache=False, calibration=DATA, method="minmax", **choices)  # type: ignore[arg-type]


def noise(found: Compiled) -> float:
    model = found.imported.quantised_model
    assert model is not None
    inputs = random_inputs(found.program)
    exact, made = run(NETWORK, inputs)["y"], run(to_proto(model), inputs)["y"]
    return float(((exact - made) ** 2).mean())


def test_all_dense_layers() -> None:
    """What MaxPool reads and makes keeps 8 bits; every map equals the definition, and the output is closer to float."""
    found = compiled(activations="16")
    kinds = {op.name: (op.x16, op.y16) for op in found.imported.graph.ops if isinstance(op, LongConv)}
    assert kinds == {"first": (True, True), "second": (True, False), "head": (False, True)}
    assert [op.name for op in found.imported.graph.ops if isinstance(op, Conv | Pool)] == ["pool", "third"]
    assert not found.imported.reasons.keys() & {"first", "second", "third", "head", "pool"}
    assert check(found, random_inputs(found.program), per_layer=True).equal
    assert noise(found) < noise(compiled())


def alone() -> onnx.ModelProto:
    """A convolution of each channel, an average of windows, one of all, and a convolution of what is left."""
    shapes = {"w0": (8, 3, 3, 3), "w1": (8, 1, 3, 3), "w2": (5, 8, 1, 1)}
    held = {name: RNG.uniform(-0.1, 0.3, shape) for name, shape in shapes.items()}
    node = helper.make_node
    nodes = [
        node("Conv", ["x", "w0"], ["a"], name="first", pads=[1] * 4),
        node("Conv", ["a", "w1"], ["b"], name="alone", group=8, pads=[1] * 4),
        node("AveragePool", ["b"], ["c"], name="windows", kernel_shape=[2, 2], strides=[2, 2]),
        node("AveragePool", ["c"], ["d"], name="padded", kernel_shape=[3, 3], pads=[1] * 4),
        node("GlobalAveragePool", ["d"], ["e"], name="whole"), node("Conv", ["e", "w2"], ["y"], name="last"),
    ]  # fmt: skip
    x = helper.make_tensor_value_info("x", TensorProto.FLOAT, (1, 3, 8, 8))
    y = helper.make_tensor_value_info("y", TensorProto.FLOAT, (1, 5, 1, 1))
    stored = [numpy_helper.from_array(value.astype(np.float32), name) for name, value in held.items()]
    return helper.make_model(
        helper.make_graph(nodes, "alone", [x], [y], stored), opset_imports=[helper.make_opsetid("", 13)], ir_version=8
    )


def test_channels_alone_and_averages() -> None:
    """The average that leaves out its padding keeps 8 bits."""
    data = {"x": np.abs(DATA["x"])}
    found = compile_model(alone(), LONG, cache=False, calibration=data, activations="16")
    kinds = {op.name: (op.x16, op.y16) for op in found.imported.graph.ops if isinstance(op, LongConv)}
    both = dict.fromkeys(("first", "alone"), (True, True))
    assert kinds == {**both, "windows": (True, False), "whole": (False, True), "last": (True, True)}
    assert [op.name for op in found.imported.graph.ops if isinstance(op, Pool)] == ["padded"]
    assert check(found, random_inputs(found.program), per_layer=True).equal


def test_some_layers() -> None:
    found = compiled(activations="16", only=("fir*", "second"))
    assert [op.name for op in found.imported.graph.ops if isinstance(op, LongConv)] == ["first", "second"]
    assert check(found, random_inputs(found.program), per_layer=True).equal


@pytest.mark.parametrize(
    ("choices", "told"),
    [
        (Choices(activations="12"), "bits of activations: '12' is unknown; choose 8 or 16"),
        (Choices(only=("head",)), "choose 16, or leave them out"),
    ],
)
def test_choices_that_are_none(choices: Choices, told: str) -> None:
    with pytest.raises(CalibrationError, match=told):
        choices.check()


def test_a_pattern_that_finds_nothing() -> None:
    with pytest.raises(CalibrationError, match="no layer is called 'tail/\\*'; known are first, second, third, head"):
        compiled(activations="16", only=("tail/*",))
