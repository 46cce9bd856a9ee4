"""Variables of TFLite models, which streaming ones keep between runs, are inputs and outputs of the program."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from compiler.frontend.errors import ModelError
from compiler.frontend.model import to_proto
from compiler.frontend.partition import segments
from compiler.frontend.pipeline import import_model
from compiler.frontend.reader import read
from compiler.frontend.session import run
from tests.compiler.frontend.tflite_models import Lite

RNG = np.random.default_rng(4)


def streaming(lite: Lite, again: bool = False) -> bytes:
    """A kernel of three rows over the last two and the newest one; with ``again`` the variable is read after it is assigned."""
    quantised: dict[str, Any] = {"scale": 0.05, "zero": 3}
    x, y = lite.tensor("x", (1, 1, 4, 2), **quantised), lite.tensor("y", (1, 1, 4, 3), scale=0.1)
    handle = lite.tensor("handle", (), "resource")
    held, rows = lite.tensor("held", (1, 2, 4, 2), **quantised), lite.tensor("rows", (1, 3, 4, 2), **quantised)
    newest = lite.tensor("newest", (1, 2, 4, 2), **quantised)
    weights = lite.tensor("w", (3, 3, 1, 2), scale=0.01, data=RNG.integers(-127, 128, (3, 3, 1, 2)))
    bias = lite.tensor("b", (3,), "int32", scale=0.0005, data=RNG.integers(-500, 500, 3))
    begin, size = (lite.tensor(n, (4,), "int32", data=np.array(v)) for n, v in (("at", [0, 1, 0, 0]), ("of", [1, 2, 4, 2])))
    lite.op("CALL_ONCE", [], [], "CallOnceOptions", InitSubgraphIndex=1)
    lite.op("VAR_HANDLE", [], [handle], "VarHandleOptions", SharedName=lite.builder.CreateString("last rows"))
    lite.op("READ_VARIABLE", [handle], [held])
    lite.op("CONCATENATION", [held, x], [rows], "ConcatenationOptions", Axis=1)
    lite.op("SLICE", [rows, begin, size], [newest])
    lite.op("ASSIGN_VARIABLE", [handle, newest], [])
    lite.op("CONV_2D", [rows, weights, bias], [y], "Conv2DOptions", Padding=1, StrideH=1, StrideW=1)
    if not again:
        return lite.model([x], [y], more=1)
    read_again = lite.tensor("read again", (1, 2, 4, 2), **quantised)
    least = lite.tensor("least", (1, 2, 4, 2), **quantised)
    lite.op("READ_VARIABLE", [handle], [read_again])
    lite.op("MINIMUM", [read_again, held], [least])
    return lite.model([x], [y, least], more=1)


def test_a_variable_is_an_input_and_its_new_value_an_output() -> None:
    model = read(streaming(Lite()))
    assert model.inputs == ("x", "last rows")
    assert model.outputs == ("y", "last rows/next")
    rows = RNG.integers(-128, 128, (1, 5, 4, 2)).astype(np.int8)
    state, whole = rows[:, :2], to_proto(model)
    for index in range(2, 5):
        found = run(whole, {"x": rows[:, index : index + 1], "last rows": state})
        state = found["last rows/next"]
        assert np.array_equal(state, rows[:, index - 1 : index + 1])
        fresh = run(whole, {"x": rows[:, index : index + 1], "last rows": rows[:, index - 2 : index]})
        assert np.array_equal(found["y"], fresh["y"])


def test_what_is_read_after_an_assignment_is_what_was_assigned() -> None:
    feeds = {name: RNG.integers(-128, 128, shape).astype(np.int8) for name, shape in
             (("x", (1, 1, 4, 2)), ("last rows", (1, 2, 4, 2)))}  # fmt: skip
    found = run(to_proto(read(streaming(Lite(), again=True))), feeds)
    assert np.array_equal(found["least"], np.minimum(found["last rows/next"], feeds["last rows"]))


def test_a_streaming_model_is_one_segment() -> None:
    assert segments(import_model(streaming(Lite())).graph) == 1


def test_a_value_that_is_an_output_itself_is_refused() -> None:
    lite = Lite()
    x, handle = lite.tensor("x", (4,), "float32"), lite.tensor("handle", (), "resource")
    y, held = lite.tensor("y", (4,), "float32"), lite.tensor("held", (4,), "float32")
    lite.op("VAR_HANDLE", [], [handle], "VarHandleOptions", SharedName=lite.builder.CreateString("sum"))
    lite.op("READ_VARIABLE", [handle], [held])
    lite.op("ADD", [x, held], [y], "AddOptions")
    lite.op("ASSIGN_VARIABLE", [handle, y], [])
    with pytest.raises(ModelError, match="variable sum gets a value that is an input or an output, too"):
        read(lite.model([x], [y]))


@pytest.mark.parametrize("inputs", [[0], []])
def test_a_variable_without_a_handle_is_refused(inputs: list[int]) -> None:
    lite = Lite()
    x, y = lite.tensor("x", (4,), "float32"), lite.tensor("y", (4,), "float32")
    lite.op("CALL_ONCE", [], [], "CallOnceOptions", InitSubgraphIndex=1)
    lite.op("READ_VARIABLE", inputs, [y])
    with pytest.raises(ModelError, match="variables are read or assigned by no handle"):
        read(lite.model([x], [y]))
