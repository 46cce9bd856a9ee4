"""Masks of attention, constant and from outside: sums on the machine, softmaxes that leave out what is masked."""

from __future__ import annotations

import warnings
from dataclasses import replace
from typing import Any

import numpy as np
import onnx
import pytest
from numpy.typing import NDArray
from onnx import TensorProto, helper, numpy_helper

from compiler.driver import Compiled
from compiler.frontend.pipeline import import_model
from compiler.quantise.masks import MASKED
from compiler.quantise.statistics import CalibrationWarning
from compiler.xgraph.row_operations import Softmax
from isa.config import preset
from sim.runtime.run import run_on_cpu
from tilewright.checking import check
from tilewright.compiling import compile_model
from tilewright.running import run_program

BOTH = replace(preset("nano"), name="nano_both", build_products=True, build_rows=True, row_words=64)
HEADS, WIDE = 2, 4
Array = NDArray[Any]


def attention(tokens: int, mask: Array | tuple[int, ...], batch: int = 1) -> onnx.ModelProto:
    """Of ``x`` with itself; ``mask``: what is added to scores, or the shape of the input that is."""
    rng = np.random.default_rng(3)
    width = HEADS * WIDE
    heads, back = [batch, tokens, HEADS, WIDE], [batch, tokens, width]
    held: dict[str, Any] = {f"w{i}": rng.standard_normal((width, width)).astype(np.float32) / 2 for i in range(4)}
    held |= {"heads": np.array(heads), "back": np.array(back)}
    inputs = [helper.make_tensor_value_info("x", TensorProto.FLOAT, back)]
    if isinstance(mask, tuple):
        inputs.append(helper.make_tensor_value_info("mask", TensorProto.FLOAT, mask))
    else:
        held["mask"] = mask
    nodes = []
    for number, (name, perm) in enumerate((("q", (0, 2, 1, 3)), ("k", (0, 2, 3, 1)), ("v", (0, 2, 1, 3)))):
        nodes += [
            helper.make_node("MatMul", ["x", f"w{number}"], [f"{name}0"]),
            helper.make_node("Reshape", [f"{name}0", "heads"], [f"{name}1"]),
            helper.make_node("Transpose", [f"{name}1"], [name], perm=perm),
        ]
    nodes += [
        helper.make_node("MatMul", ["q", "k"], ["scores"]), helper.make_node("Add", ["scores", "mask"], ["sum"], name="add"),
        helper.make_node("Softmax", ["sum"], ["shares"], axis=-1), helper.make_node("MatMul", ["shares", "v"], ["mixed"]),
        helper.make_node("Transpose", ["mixed"], ["turned"], perm=(0, 2, 1, 3)),
        helper.make_node("Reshape", ["turned", "back"], ["joined"]), helper.make_node("MatMul", ["joined", "w3"], ["y"]),
    ]  # fmt: skip
    output = helper.make_tensor_value_info("y", TensorProto.FLOAT, back)
    graph = helper.make_graph(nodes, "masked", inputs, [output], [numpy_helper.from_array(v, k) for k, v in held.items()])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


def compiled(net: onnx.ModelProto) -> Compiled:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", CalibrationWarning)
        return compile_model(net, BOTH, cache=False, effort="quick")


def causal(tokens: int, low: float) -> Array:
    return np.triu(np.full((tokens, tokens), low, np.float32), 1)


def noise(*shape: int) -> Array:
    return np.random.default_rng(5).standard_normal(shape, dtype=np.float32)


def test_a_mask_is_told_from_a_bias() -> None:
    """A constant that lies among the scores is held as finely as eight bits hold it."""
    bias = noise(1, HEADS, 5, 5) * np.float32(MASKED / 64)
    found = compiled(attention(5, bias)).imported
    assert found.float_model is not None
    assert np.array_equal(found.float_model.constants["mask"], bias)
    assert not any("bounded" in name for name in found.float_model.constants)


@pytest.mark.parametrize("low", [-100.0, -1e9, float(np.finfo(np.float32).min), -np.inf])
@pytest.mark.parametrize("tokens", [1, 5])
def test_constant_masks(low: float, tokens: int) -> None:
    made = compiled(attention(tokens, causal(tokens, low)))
    assert "add" not in made.imported.reasons
    inputs = {"x": noise(1, tokens, HEADS * WIDE)}
    assert check(made, inputs, per_layer=True).equal
    other = {"x": inputs["x"].copy()}
    other["x"][:, 1:] += 1.0
    one, two = (run_program(made.program, given).outputs["y"] for given in (inputs, other))
    assert np.array_equal(one[:, 0], two[:, 0]), "the first token sees itself alone"


SHAPES = [((1, 1, 1, 6), 1), ((1, 1, 6, 6), 1), ((2, 1, 1, 6), 2), ((2, 1, 6, 6), 2), ((1, HEADS, 6, 6), 1)]


@pytest.mark.parametrize(("shape", "batch"), SHAPES)
def test_masks_from_outside(shape: tuple[int, ...], batch: int) -> None:
    """The last tokens are masked; what they hold does not matter."""
    made = compiled(attention(6, shape, batch))
    assert "add" not in made.imported.reasons
    assert sum(isinstance(op, Softmax) for op in made.imported.graph.ops) >= 1
    mask = np.zeros(shape, np.float32)
    mask[..., 4:] = np.finfo(np.float32).min
    inputs = {"x": noise(batch, 6, HEADS * WIDE), "mask": mask}
    assert check(made, inputs, per_layer=True).equal
    other = {**inputs, "x": inputs["x"].copy()}
    other["x"][:, 4:] = 3.0
    one, two = (run_program(made.program, given).outputs["y"] for given in (inputs, other))
    assert np.array_equal(one[:, :4], two[:, :4])


@pytest.mark.parametrize("low", [float(np.finfo(np.float32).min), -np.inf])
def test_rows_that_are_masked_as_a_whole_have_equal_shares(low: float) -> None:
    made = compiled(attention(6, (1, 1, 1, 6)))
    inputs = {"x": noise(1, 6, HEADS * WIDE), "mask": np.full((1, 1, 1, 6), low, np.float32)}
    found = check(made, inputs, per_layer=True)
    assert found.equal, str(found)
    rows = run_program(made.program, inputs).outputs["y"][0]
    assert (rows == rows[0]).all()
    assert np.array_equal(rows, run_on_cpu(made.program, inputs)["y"][0])


def test_without_the_options_masks_stay_as_they_are() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", CalibrationWarning)
        found = import_model(attention(5, causal(5, -np.inf)))
    assert "add" in found.reasons
