"""IF and WHILE of TFLite beside its interpreter: constants, maps and conditions that the graphs they run take from outside."""

from __future__ import annotations

import numpy as np
import pytest

from compiler.driver import compile_graph
from compiler.frontend.errors import ModelError
from compiler.frontend.partition import segments
from compiler.frontend.pipeline import import_model
from compiler.frontend.reader import load, read
from isa.config import preset
from sim.runtime.engine import FunctionalEngine
from sim.runtime.run import Run, run_on_cpu
from tests.compiler.frontend.test_tflite_operators import RNG, check
from tests.compiler.frontend.tflite_models import Lite

NANO = preset("nano")


def dense(lite: Lite, x: int, w: int, name: str) -> int:
    y = lite.tensor(name, (1, 6), "float32")
    lite.op("FULLY_CONNECTED", [x, w], [y], "FullyConnectedOptions")
    return y


def choosing() -> tuple[Lite, list[int], list[int]]:
    """A dense layer once more if its first value is above zero, the layer's input if not."""
    lite = Lite()
    x, w, _ = lite.tensor("x", (1, 6), "float32"), lite.tensor("w", (6, 6), "float32"), lite.tensor("z", (1, 6), "float32")
    then = lite.graph([x, w, 2], [dense(lite, 2, w, "y")])
    x, w, z = lite.tensor("x", (1, 6), "float32"), lite.tensor("w", (6, 6), "float32"), lite.tensor("z", (1, 6), "float32")
    other = lite.graph([x, w, z], [x])
    x = lite.tensor("x", (1, 6), "float32")
    w = lite.tensor("w", (6, 6), "float32", data=RNG.normal(size=(6, 6)))
    z, y = dense(lite, x, w, "z"), lite.tensor("y", (1, 6), "float32")
    begin, size = (lite.tensor(n, (2,), "int32", data=np.array(v)) for n, v in (("begin", [0, 0]), ("size", [1, 1])))
    first, zero = lite.tensor("first", (1, 1), "float32"), lite.tensor("zero", (), "float32", data=np.zeros(()))
    yes = lite.tensor("yes", (1, 1), "bool")
    lite.op("SLICE", [z, begin, size], [first])
    lite.op("GREATER", [first, zero], [yes])
    lite.op("IF", [yes, x, w, z], [y], "IfOptions", ThenSubgraphIndex=then, ElseSubgraphIndex=other)
    return lite, [x], [y]


def turning(steps: int = 3) -> tuple[Lite, list[int], list[int]]:
    """A dense layer as often as a counter says; its weights go round, too, unchanged."""
    lite = Lite()

    def state(data: bool = False) -> list[int]:
        count = lite.tensor("count", (), "int32", data=np.zeros(()) if data else None)
        x, w = lite.tensor("x", (1, 6), "float32"), lite.tensor(
            "w", (6, 6), "float32", data=RNG.normal(size=(6, 6)) if data else None
        )  # fmt: skip
        return [count, x, w]

    numbers = state()
    most, on = lite.tensor("most", (), "int32", data=np.array(steps)), lite.tensor("on", (), "bool")
    lite.op("LESS", [numbers[0], most], [on])
    condition = lite.graph(numbers, [on])
    numbers = state()
    one, more = lite.tensor("one", (), "int32", data=np.array(1)), lite.tensor("more", (), "int32")
    lite.op("ADD", [numbers[0], one], [more], "AddOptions")
    body = lite.graph(numbers, [more, dense(lite, numbers[1], numbers[2], "again"), numbers[2]])
    numbers = state(data=True)
    made = [lite.tensor(name, shape, kind) for name, shape, kind in
            (("count'", (), "int32"), ("x'", (1, 6), "float32"), ("w'", (6, 6), "float32"))]  # fmt: skip
    lite.op("WHILE", numbers, made, "WhileOptions", CondSubgraphIndex=condition, BodySubgraphIndex=body)
    y = lite.tensor("y", (1, 6), "float32")
    lite.op("NEG", [made[1]], [y])
    return lite, [numbers[1]], [y, made[0]]


@pytest.mark.parametrize("seed", range(4))
def test_a_choice_is_the_interpreters(seed: int) -> None:
    check(*choosing(), {"x": np.random.default_rng(seed).normal(size=(1, 6)).astype(np.float32)})


@pytest.mark.parametrize("steps", [0, 3])
def test_turns_are_the_interpreters(steps: int) -> None:
    check(*turning(steps), {"x": RNG.normal(size=(1, 6)).astype(np.float32)})


def test_what_comes_out_of_a_loop_has_the_sizes_of_the_file() -> None:
    lite, inputs, outputs = turning()
    assert read(lite.model(inputs, outputs)).shape("y") == (1, 6)


def test_the_layer_before_a_choice_is_on_the_machine() -> None:
    lite, inputs, outputs = choosing()
    x = RNG.normal(size=(8, 6)).astype(np.float32)
    found = import_model(lite.model(inputs, outputs), calibration={"x": x})
    program = compile_graph(found, NANO, strategy="naive").program
    assert segments(found.graph) == 1
    for row in x:
        made, expected = Run(program, FunctionalEngine(NANO))({"x": row[None]}), run_on_cpu(program, {"x": row[None]})
        assert np.array_equal(made["y"], expected["y"])


def test_a_graph_that_calls_itself_is_refused() -> None:
    lite = Lite()
    x, y, yes = lite.tensor("x", (4,), "float32"), lite.tensor("y", (4,), "float32"), lite.tensor("yes", (), "bool")
    lite.op("IF", [yes, x], [y], "IfOptions", ThenSubgraphIndex=0, ElseSubgraphIndex=0)
    with pytest.raises(ModelError, match="graph 0 calls itself"):
        read(lite.model([yes, x], [y]))


def test_graphs_that_call_each_other_often_are_refused() -> None:
    """Twenty graphs, each twice in the one before: a million operators."""
    lite = Lite()
    for number in range(20):
        x, y, yes = lite.tensor("x", (4,), "float32"), lite.tensor("y", (4,), "float32"), lite.tensor("yes", (), "bool")
        following = number + 2 if number < 19 else number + 1
        if following == number + 1:
            lite.op("NEG", [x], [y])
        else:
            lite.op("IF", [yes, yes, x], [y], "IfOptions", ThenSubgraphIndex=following, ElseSubgraphIndex=following)
        lite.graph([yes, x], [y])
    x, y, yes = lite.tensor("x", (4,), "float32"), lite.tensor("y", (4,), "float32"), lite.tensor("yes", (), "bool")
    lite.op("IF", [yes, yes, x], [y], "IfOptions", ThenSubgraphIndex=1, ElseSubgraphIndex=1)
    with pytest.raises(ModelError, match="operators, those of called graphs included"):
        load(lite.model([yes, x], [y]))


def test_a_graph_that_is_missing_is_refused() -> None:
    lite = Lite()
    x, y, yes = lite.tensor("x", (4,), "float32"), lite.tensor("y", (4,), "float32"), lite.tensor("yes", (), "bool")
    lite.op("IF", [yes, x], [y], "IfOptions", ThenSubgraphIndex=7, ElseSubgraphIndex=1)
    with pytest.raises(ModelError, match="graph 1 is called, 1 are there"):
        read(lite.model([yes, x], [y]))
