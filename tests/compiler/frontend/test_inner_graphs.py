"""If and Loop that read from outside: quantised around them, loaded at every level of optimisation, and equal."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper

from compiler.driver import compile_graph
from compiler.frontend import loading, pipeline
from compiler.frontend.captures import with_captures_spelt_out
from compiler.frontend.errors import ModelError
from compiler.frontend.pipeline import ImportedModel
from compiler.frontend.reader import read
from compiler.xgraph.ops import Cpu
from isa.config import preset
from sim.runtime.engine import FunctionalEngine
from sim.runtime.oracle import EXACT, INTEGER, WHOLE
from sim.runtime.run import Run, run_on_cpu
from tests.compiler.frontend.quantised_models import imported, model, node, weights
from tilewright.inputs import random_inputs

NANO = preset("nano")
MAP = (1, 4, 6, 6)


def branch(name: str, op_type: str, *inputs: str) -> onnx.GraphProto:
    made = helper.make_node(op_type, inputs, [f"{name}_out"], f"{name}_{op_type}")
    return helper.make_graph([made], name, [], [onnx.ValueInfoProto(name=f"{name}_out")])


def chosen(source: str, output: str = "y") -> onnx.NodeProto:
    """Of two functions of an outer tensor, by the sign of a sum."""
    then, other = branch("then", "Neg", source), branch("else", "Abs", source)
    return helper.make_node("If", ["flag"], [output], f"If_{output}", then_branch=then, else_branch=other)


def if_model() -> onnx.ModelProto:
    nodes = [
        node("Conv", "x w", "a"), node("Relu", "a", "b"), node("ReduceSum", "x", "sum", keepdims=0),
        node("Less", "sum zero", "flag"), chosen("b", "c"), node("Conv", "c v", "y"),
    ]  # fmt: skip
    return model(nodes, MAP, {"w": weights(4, 4, 3, 3), "v": weights(5, 4, 1, 1), "zero": np.array(0, np.float32)})


def loop_model() -> onnx.ModelProto:
    """Adds an outer map to what goes round, three times."""
    whole, flag, real = TensorProto.INT64, TensorProto.BOOL, TensorProto.FLOAT
    body = helper.make_graph(
        [
            helper.make_node("Identity", ["on"], ["still"], "still"), helper.make_node("Add", ["round", "b"], ["more"], "more")
        ], "body",
        [
            helper.make_tensor_value_info("i", whole, []), helper.make_tensor_value_info("on", flag, []),
            helper.make_tensor_value_info("round", real, (1, 4, 4, 4)),
        ],
        [helper.make_tensor_value_info("still", flag, []), helper.make_tensor_value_info("more", real, (1, 4, 4, 4))],
    )  # fmt: skip
    nodes = [
        node("Conv", "x w", "a"), node("Relu", "a", "b"),
        helper.make_node("Loop", ["three", "", "b"], ["c"], "Loop", body=body), node("Conv", "c v", "y"),
    ]  # fmt: skip
    return model(nodes, MAP, {"w": weights(4, 4, 3, 3), "v": weights(5, 4, 1, 1), "three": np.array(3, np.int64)})


def equal_everywhere(found: ImportedModel) -> None:
    """With every optimisation onnxruntime's float layers round otherwise."""
    program = compile_graph(found, NANO, strategy="naive").program
    feeds = random_inputs(program)
    made = Run(program, FunctionalEngine(NANO))(feeds)
    for kind in (INTEGER, WHOLE, EXACT):
        for name, expected in run_on_cpu(program, feeds, kind).items():
            assert np.array_equal(made[name], expected) if kind == INTEGER else np.allclose(made[name], expected, atol=1e-4)


@pytest.mark.parametrize(("build", "layers"), [(if_model, {"Conv_a", "Conv_y"}), (loop_model, {"Conv_a"})])
def test_a_graph_that_reads_a_quantised_map(build: Any, layers: set[str]) -> None:
    """What goes round in a Loop has no shape that onnxruntime infers, nor has what reads it."""
    found = imported(build())
    assert not layers & found.reasons.keys()
    equal_everywhere(found)


def test_the_form_that_is_read_inside_is_spelt_out_and_others_are_not() -> None:
    table: dict[str, Any] = {"s": np.float32(0.1), "z": np.uint8(7), "flag": np.array(True)}
    nodes = [node("DequantizeLinear", "x s z", "b"), chosen("b"), node("Relu", "b", "r")]
    found = with_captures_spelt_out(read(model(nodes, MAP, table, ("y", "r"), elem=TensorProto.UINT8)))
    assert [(n.op_type, n.output) for n in found.nodes] == [
        ("DequantizeLinear", "b/outside"), ("Cast", "b/whole"), ("Sub", "b/from_zero"), ("Mul", "b"), ("If", "y"), ("Relu", "r")
    ]  # fmt: skip
    assert found.producers()["r"].inputs == ("b/outside",)


def test_a_part_that_would_abort_leaves_the_model_as_it_came(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = []

    def refuses_quantised(part: bytes) -> bool:
        asked.append(part)
        return b"DequantizeLinear" not in part

    monkeypatch.setattr(pipeline, "survives", refuses_quantised)
    found = imported(if_model())
    assert asked
    assert {type(op) for op in found.graph.ops} == {Cpu}
    assert set(found.reasons.values()) == {pipeline.WOULD_ABORT}
    equal_everywhere(found)


def test_a_model_that_aborts_as_it_came_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pipeline, "survives", lambda _: False)
    with pytest.raises(ModelError, match="onnxruntime aborts when it loads it; export it without control flow"):
        imported(if_model())


@pytest.fixture
def another(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[str], None]]:
    """Starts one of other code."""

    def start(code: str) -> None:
        loading._end_helper()
        begun = f"import os\nfrom compiler.frontend import loading\n{code}"
        monkeypatch.setattr(loading, "HELPER", (sys.executable, "-c", begun))

    yield start
    loading._end_helper()


def test_one_helper_answers_for_all_models() -> None:
    assert loading.survives(if_model().SerializeToString())
    before = loading._helper()
    assert loading.loads(if_model().SerializeToString())
    assert loading.survives(b"no model"), "it is refused with an error"
    assert not loading.loads(b"no model")
    assert loading._helper() is before


def test_a_child_that_is_killed_has_not_survived(another: Callable[[str], None]) -> None:
    another("loading.refusals = lambda path: os.abort() if b'bad' in open(path, 'rb').read() else 0\nloading._serve()")
    assert not loading.survives(b"bad")
    assert loading.loads(b"good"), "the next one is asked of the same helper"


def test_a_helper_that_does_not_answer_is_an_error(another: Callable[[str], None]) -> None:
    another("os._exit(1)")
    with pytest.raises(ModelError, match="onnxruntime cannot be started in a process of its own; allow more processes"):
        loading.survives(b"")


def test_the_helper_imports_nothing_from_the_current_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "compiler").mkdir()
    (tmp_path / "compiler" / "__init__.py").write_text("open('ran', 'w')")
    monkeypatch.chdir(tmp_path)
    loading._end_helper()
    assert loading.survives(b"no model")
    assert not (tmp_path / "ran").exists()


def test_a_branch_for_other_sizes_is_no_reason_to_refuse() -> None:
    """Which onnxruntime runs, as it never takes that branch: its inference of shapes must not see the sizes."""
    squeezed = helper.make_node("Squeeze", ["x", "axis"], ["else_out"], "squeeze")
    other = helper.make_graph([squeezed], "else", [], [onnx.ValueInfoProto(name="else_out")])
    taken = branch("then", "Neg", "x")
    nodes = [
        node("ReduceMax", "x", "most", keepdims=0), node("Less", "most far", "flag"),
        helper.make_node("If", ["flag"], ["y"], "If", then_branch=taken, else_branch=other),
    ]  # fmt: skip
    table: dict[str, Any] = {"axis": np.array([0], np.int64), "far": np.float32(1e9)}
    found = imported(model(nodes, ("batch", 3), table), shapes={"x": (2, 3)})
    assert compile_graph(found, NANO).program.inputs[0].shape == (2, 3)
    equal_everywhere(found)
