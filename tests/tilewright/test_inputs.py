"""Random inputs that a model can run on, and what is counted and said of models whatever they are made of."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

from compiler.driver import Compiled
from compiler.frontend.idle import NothingOnMachine
from isa.errors import TilewrightError
from isa.program import Program
from tests.tilewright.small_models import float_model
from tilewright.cli import main
from tilewright.comparison import compare
from tilewright.compiling import compile_model
from tilewright.exits import Exit
from tilewright.inputs import random_inputs
from tilewright.profile.network import macs_of_nodes
from tilewright.running import run_program

RNG = np.random.default_rng(3)
KINDS = {"float32": TensorProto.FLOAT, "float16": TensorProto.FLOAT16, "bool": TensorProto.BOOL, "int64": TensorProto.INT64}
node = helper.make_node


def network(
    nodes: Sequence[onnx.NodeProto], inputs: Mapping[str, tuple[str, Sequence[int | str]]], constants: Mapping[str, Any]
) -> onnx.ModelProto:
    """Its output is ``y``."""
    graph = helper.make_graph(
        nodes, "network", [helper.make_tensor_value_info(name, KINDS[kind], shape) for name, (kind, shape) in inputs.items()],
        [onnx.ValueInfoProto(name="y")], [numpy_helper.from_array(np.asarray(v), name) for name, v in constants.items()],
    )  # fmt: skip
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


def compiled(model: onnx.ModelProto) -> Compiled:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return compile_model(model, "nano", strategy="naive", cache=False)


def check(program: Program) -> None:
    feeds = random_inputs(program)
    rows = compare(run_program(program, feeds).outputs, run_program(program, feeds, "cpu").outputs)
    assert rows
    assert not any(row.differ for row in rows)


W = RNG.normal(size=(4, 3, 3, 3)).astype(np.float32)
X = {"x": ("float32", (1, 3, 8, 8))}
CONV = node("Conv", ["x", "w"], ["c"], "conv")


def test_flags_are_drawn() -> None:
    nodes = [CONV, node("Where", ["b", "c", "zero"], ["y"])]
    program = compiled(network(nodes, {**X, "b": ("bool", (1, 4, 6, 6))}, {"w": W, "zero": np.float32(0)})).program
    assert 0 < random_inputs(program)["b"].mean() < 1
    check(program)


LOOKUPS = {
    "Gather": (node("Gather", ["c", "i"], ["y"], axis=1), (50,), 4),
    "Gather behind Unsqueeze": (node("Gather", ["c", "u"], ["y"], axis=2), (50,), 6),
    "GatherElements": (node("GatherElements", ["c", "i"], ["y"], axis=1), (1, 9, 6, 6), 4),
    "GatherND": (node("GatherND", ["c", "i"], ["y"], batch_dims=1), (1, 50, 3), 4),
    "RoiAlign": (node("RoiAlign", ["c", "areas", "i"], ["y"], output_height=2, output_width=2), (50,), 1),
    "Add, which looks nothing up": (node("Add", ["i", "i"], ["y"]), (50,), 2),
}


@pytest.mark.parametrize("name", LOOKUPS)
def test_indices_are_places_that_exist(name: str) -> None:
    reader, shape, places = LOOKUPS[name]
    nodes = [CONV, node("Unsqueeze", ["i", "front"], ["u"]), reader]
    constants = {"w": W, "front": np.array([0]), "areas": np.tile(np.array([0, 0, 4, 4], np.float32), (50, 1))}
    found = network(nodes, {**X, "i": ("int64", shape)}, constants)
    program = compiled(found).program
    drawn = random_inputs(program)["i"]
    assert (drawn.min(), drawn.max()) == (0, places - 1)
    check(program)


QDQ = {"s": np.float32(0.0625), "z": np.int8(0), "v": RNG.integers(-9, 9, (4, 4, 1, 1)).astype(np.int8)}
BEHIND = [
    node("QuantizeLinear", ["c", "s", "z"], ["q"]), node("DequantizeLinear", ["q", "s", "z"], ["d"]),
    node("DequantizeLinear", ["v", "s", "z"], ["dv"]), node("Conv", ["d", "dv"], ["e"], "second"),
    node("QuantizeLinear", ["e", "s", "z"], ["q2"]), node("DequantizeLinear", ["q2", "s", "z"], ["y"]),
]  # fmt: skip
M = RNG.normal(size=(3, 5)).astype(np.float32)
COUNTED: dict[str, tuple[Any, Any, Any, dict[str, int]]] = {
    "float Conv before a quantised one": ([CONV, *BEHIND], X, {**QDQ, "w": W}, {"conv": 4 * 27 * 36, "second": 16 * 36}),
    "float Gemm": (
        [node("Gemm", ["x", "m"], ["c"], "gemm"), *BEHIND[:2], node("Relu", ["d"], ["y"])], {"x": ("float32", (2, 3))},
        {**QDQ, "m": M}, {"gemm": 30},
    ),
    "float MatMul": (
        [node("MatMul", ["x", "m"], ["c"], "mul"), *BEHIND[:2], node("Relu", ["d"], ["y"])], {"x": ("float32", (4, 2, 3))},
        {**QDQ, "m": M}, {"mul": 120},
    ),
    "float16": (
        [node("Conv", ["x", "w"], ["y"], "conv")], {"x": ("float16", (1, 3, 8, 8))}, {"w": W.astype(np.float16)},
        {"conv": 4 * 27 * 36},
    ),
    "three dimensions": (
        [node("Conv", ["x", "w"], ["y"], "conv")], {"x": ("float32", (1, 3, 5, 5, 5))},
        {"w": RNG.normal(size=(4, 3, 3, 3, 3)).astype(np.float32)}, {"conv": 4 * 81 * 27},
    ),
    "a size that only data tell": (
        [node("NonZero", ["x"], ["n"]), node("Cast", ["n"], ["f"], to=1), node("MatMul", ["l", "f"], ["y"], "unknown")], X,
        {"l": np.ones((2, 4), np.float32)}, {"unknown": 0},
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", COUNTED)
def test_products_of_layers_that_read_inputs_of_the_model(name: str) -> None:
    nodes, inputs, constants, macs = COUNTED[name]
    program = compiled(network(nodes, inputs, constants)).program
    assert macs_of_nodes(program) == macs
    check(program)


IDLE = {
    "it is quantised dynamically; give calibration data (--calibrate), with which it is taken as a float model": network(
        [
            node("DynamicQuantizeLinear", ["x"], ["q", "s", "z"]), node("ConvInteger", ["q", "w", "z"], ["c"]),
            node("Cast", ["c"], ["f"], to=1), node("Mul", ["f", "s"], ["y"]),
        ], X, {"w": RNG.integers(-9, 9, W.shape).astype(np.int8)},
    ),
    "it computes in float16; give the model in float32, or quantised to 8 bits": network(
        [node("Conv", ["x", "w"], ["y"])], {"x": ("float16", (1, 3, 8, 8))}, {"w": W.astype(np.float16)}
    ),
    "`tilewright compile --verbose` says why for each node, `tilewright ops` what each operator asks for": network(
        [node("Softmax", ["x"], ["y"])], X, {}
    ),
}  # fmt: skip


@pytest.mark.parametrize("remedy", IDLE)
def test_models_of_which_nothing_reaches_the_machine_are_warned_of(remedy: str) -> None:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        compile_model(IDLE[remedy], "nano", cache=False)
    said = [str(warning.message) for warning in caught if warning.category is NothingOnMachine]
    assert len(said) == 1
    assert said[0].startswith("nothing of the model runs on the machine (")
    assert said[0].endswith(f": {remedy}")


def test_no_such_warning_where_something_reaches_it() -> None:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        compile_model(float_model(), "nano", strategy="naive", cache=False)
    assert NothingOnMachine not in {warning.category for warning in caught}


WRONG: dict[str, dict[str, Any]] = {
    "strategy 'rash': unknown": {"strategy": "rash"},
    "objective 'joy': unknown": {"objective": "joy"},
    "quantisation scheme 'odd': unknown": {"scheme": "odd"},
    "configuration": {"config": "pico"},
}


@pytest.mark.parametrize("message", WRONG)
def test_wrong_choices_are_told_before_anything_is_read(message: str, tmp_path: Path) -> None:
    with pytest.raises(TilewrightError, match=message):
        compile_model(tmp_path / "is_not_there.onnx", **WRONG[message])


@pytest.mark.parametrize("command", ["compile", "check", "explain"])
def test_commands_tell_wrong_choices_first(command: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = [command, str(tmp_path / "model.onnx"), "--strategy", "rash"]
    (tmp_path / "model.onnx").write_bytes(b"no model at all")
    out = ["-o", str(tmp_path / "out")] if command == "compile" else []
    assert main([*words, *out]) == Exit.BAD_INPUT
    assert capsys.readouterr().err.startswith("tilewright: strategy 'rash': unknown; known are ")


def free_model() -> onnx.ModelProto:
    """A convolution over images of any size, and what a second input adds to it."""
    nodes = [CONV, node("Relu", ["c"], ["r"]), node("Add", ["r", "o"], ["y"])]
    return network(nodes, {"x": ("float32", ("n", 3, "h", "w")), "o": ("float32", ("n", 4, 1, 1))}, {"w": W})


@pytest.mark.filterwarnings("ignore::compiler.quantise.statistics.CalibrationWarning")
def test_shapes_and_batch_in_python() -> None:
    result = compile_model(free_model(), "nano", strategy="naive", cache=False, batch=2, shapes={"x": (2, 3, 9, 11)})
    assert [tensor.shape for tensor in result.program.inputs] == [(2, 3, 9, 11), (2, 4, 1, 1)]
    assert [tensor.shape for tensor in result.program.outputs] == [(2, 4, 7, 9)]
    with pytest.raises(TilewrightError, match=r"input x: shape \[3, 9\] has 2 dimensions, 4 are expected by the model"):
        compile_model(free_model(), "nano", shapes={"x": (3, 9)})
    with pytest.raises(TilewrightError, match="input z: the model has no such input; it has x, o"):
        compile_model(free_model(), "nano", shapes={"z": (3, 9)})


@pytest.mark.filterwarnings("ignore::compiler.quantise.statistics.CalibrationWarning")
@pytest.mark.parametrize("command", ["compile", "check"])
def test_shapes_and_batch_of_commands(command: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    model, out = tmp_path / "model.onnx", ["-o", str(tmp_path / "out.elf")]
    model.write_bytes(free_model().SerializeToString())
    words = [command, str(model), "--config", "nano", "--strategy", "naive", *(out if command == "compile" else [])]
    sizes = ["--shape", "x:2x3x9x11", "--shape", "o:2x4x1x1"]
    assert main([*words, *sizes]) == Exit.DONE
    assert main([*words, "--batch", "2", "--shape", "x:2x3x9x11"]) == Exit.DONE
    capsys.readouterr()
    assert main(words) == Exit.BAD_INPUT
    assert "dimension 2 is free (h), a number is expected" in capsys.readouterr().err
    for wrong in ("2x3", "x:", "x:2x-3", "x:2xa", "x:0x3"):
        assert main([*words, "--shape", wrong]) == Exit.BAD_INPUT
        assert "expected an input's name and its sizes, as image:1x3x480x640" in capsys.readouterr().err
