"""Constants of any shape as operands: position embeddings, class tokens, coordinates beside a map."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import TensorProto

from compiler.driver import compile_graph
from compiler.frontend.session import run
from compiler.xgraph.ops import Constant, Conv
from isa.config import preset
from sim.runtime.engine import FunctionalEngine
from sim.runtime.run import Run
from tests.compiler.frontend.quantised_models import check_exact, feeds_of, host_operators, imported, model, node, weights

RNG = np.random.default_rng(50)
MAP = (1, 6, 5, 4)
SHAPES = {
    "all": MAP, "without batch": (6, 5, 4), "per channel": (1, 6, 1, 1), "per pixel": (5, 4), "per row": (5, 1),
    "per column": (4,), "per channel and column": (6, 1, 4),
}  # fmt: skip
SCALES: dict[str, Any] = {
    "s": np.array(0.0312847, np.float32), "z": np.array(5, np.int8), "t": np.array(0.0471931, np.float32),
    "u": np.array(-9, np.int8), "ks": np.array(0.0171, np.float32), "kz": np.array(4, np.int8),
}  # fmt: skip
EVERY = [node("DequantizeLinear", "x s z", "xf"), node("DequantizeLinear", "k ks kz", "kf")]
BACK = node("QuantizeLinear", "e t u", "y")


def stored(shape: tuple[int, ...], dtype: type = np.int8) -> Any:
    limits = np.iinfo(dtype)
    return RNG.integers(limits.min, limits.max + 1, shape).astype(dtype)


def tokens(joined: str = "cls t", added: bool = True) -> onnx.ModelProto:
    """Patches of an image, a class token, positions, and a dense layer over them."""
    table = {
        "w": weights(16, 3, 4, 4), "b": weights(16), "shape": np.array([1, 16, 4]), "cls": weights(1, 1, 16, scale=1),
        "pos": weights(1, 5, 16, scale=0.5), "v": weights(16, 8), "c": weights(8),
    }  # fmt: skip
    nodes = [
        node("Conv", "x w b", "p", kernel_shape=[4, 4], strides=[4, 4]), node("Reshape", "p shape", "r"),
        node("Transpose", "r", "t", perm=[0, 2, 1]), node("Concat", joined, "j", axis=1),
        *([node("Add", "j pos", "e")] if added else []), node("MatMul", "e v" if added else "j v", "m"), node("Add", "m c"),
    ]  # fmt: skip
    return model(nodes, (1, 3, 8, 8), table)


@pytest.mark.parametrize("joined", ["cls t", "t cls"])
@pytest.mark.parametrize("added", [True, False])
@pytest.mark.parametrize("scheme", ["free", "power_of_two"])
def test_class_tokens_and_positions_are_on_the_machine(scheme: str, added: bool, joined: str) -> None:
    found = imported(tokens(joined, added), scheme)
    assert not host_operators(found)
    assert sum(isinstance(op, Constant) for op in found.graph.ops) == 1 + added
    check_exact(found)


@pytest.mark.parametrize(("name", "objective"), [("nano", "cycles"), ("nano", "memory"), ("base", "cycles")])
def test_programs_hold_constants_beside_parameters(name: str, objective: str) -> None:
    found = imported(tokens())
    program, feeds = compile_graph(found, preset(name), objective=objective).program, feeds_of(found, 3)
    results, expected = Run(program, FunctionalEngine(program.config))(feeds), run(found.oracle, feeds)
    assert (results["y"] == expected["y"]).all()
    values = next(op.values for op in found.graph.ops if isinstance(op, Constant))
    assert program.const.startswith(values.tobytes())


@pytest.mark.parametrize("shape", SHAPES.values(), ids=SHAPES)
@pytest.mark.parametrize("op_type", ["Add", "Sub", "Mul", "Min", "Max"])
def test_float_models_with_constants_of_any_shape(op_type: str, shape: tuple[int, ...]) -> None:
    table = {"k": weights(*shape, scale=1), "w": weights(6, 6, 1, 1)}
    found = imported(model([node("Conv", "x w", "c"), node(op_type, "c k", "a"), node("Conv", "a w")], MAP, table))
    assert not host_operators(found)
    check_exact(found, seeds=1)


@pytest.mark.parametrize("dtype", [np.int8, np.uint8])
@pytest.mark.parametrize("shape", SHAPES.values(), ids=SHAPES)
@pytest.mark.parametrize("sides", ["xf kf", "kf xf"])
@pytest.mark.parametrize("op_type", ["Add", "Sub", "Mul"])
def test_quantised_constants_of_any_shape(op_type: str, sides: str, shape: tuple[int, ...], dtype: type) -> None:
    table = SCALES | {name: SCALES[name].astype(dtype) % 100 for name in ("z", "u", "kz")} | {"k": stored(shape, dtype)}
    elem = TensorProto.INT8 if dtype is np.int8 else TensorProto.UINT8
    found = imported(model([*EVERY, node(op_type, sides, "e"), BACK], MAP, table, elem=elem))
    assert not host_operators(found)
    assert not any(isinstance(op, Conv) for op in found.graph.ops)
    check_exact(found, seeds=1)


@pytest.mark.parametrize("axis", [1, 2, 3])
@pytest.mark.parametrize("same", [True, False])
def test_quantised_constants_are_joined(same: bool, axis: int) -> None:
    """Of the scale of the other part, or of another."""
    shape = list(MAP)
    shape[axis] = 2
    table = SCALES | {"k": stored(tuple(shape))} | ({"ks": SCALES["s"], "kz": SCALES["z"]} if same else {})
    found = imported(model([*EVERY, node("Concat", "xf kf", "e", axis=axis), BACK], MAP, table, elem=TensorProto.INT8))
    assert not host_operators(found)
    check_exact(found)


def test_integer_joins_take_constants() -> None:
    table = SCALES | {"k": stored((1, 2, 5, 4))}
    joined = node("QLinearConcat", "t u x s z k ks kz", "y", "com.microsoft", axis=1)
    found = imported(model([joined], MAP, table, elem=TensorProto.INT8))
    assert not host_operators(found)
    check_exact(found)


def test_a_constant_larger_than_the_tensor_is_left_to_the_cpu() -> None:
    table = SCALES | {"k": stored((2, 6, 5, 4))}
    found = imported(model([*EVERY, node("Add", "xf kf", "e"), BACK], MAP, table, elem=TensorProto.INT8))
    assert "Add" in host_operators(found)
    assert any(re.search("or is a constant", reason) for reason in found.reasons.values())


def test_constants_of_tensors_that_are_moved_lie_as_the_tensor_does() -> None:
    """Channels last, and a dimension that two sides of the map make up."""
    table = SCALES | {"k": stored((1, 20, 6)), "shape": np.array([1, 6, 20])}
    nodes = [
        EVERY[0], node("Reshape", "xf shape", "r"), node("Transpose", "r", "v", perm=[0, 2, 1]), EVERY[1],
        node("Add", "v kf", "e"), BACK,
    ]  # fmt: skip
    found = imported(model(nodes, MAP, table, elem=TensorProto.INT8))
    assert not host_operators(found)
    assert [type(op).__name__ for op in found.graph.ops] == ["Constant", "Eltwise"]
    check_exact(found)
