"""Whose mistake an error is: the model's, where ONNX's checker or onnxruntime refuse it too, and else ours."""

from __future__ import annotations

import os
import threading
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper

from compiler.frontend import pipeline
from compiler.frontend.edges import Edges
from compiler.frontend.errors import ModelError
from compiler.frontend.invalid import invalid_models_told, why_invalid
from compiler.frontend.pipeline import import_model
from compiler.frontend.reader import Source, load
from isa.errors import TilewrightError
from tests.compiler.frontend.quantised_models import imported, model, node, weights


def one(made: onnx.NodeProto) -> onnx.ModelProto:
    proto = model([made], (1, 3))
    proto.graph.output[0].CopyFrom(helper.make_tensor_value_info("y", TensorProto.FLOAT, (1, 3)))
    return proto


def valid() -> onnx.ModelProto:
    return one(node("Relu", "x"))


def refused_by_the_checker() -> onnx.ModelProto:
    """Two inputs too many."""
    return one(node("Relu", "x x x"))


def refused_by_the_runtime() -> onnx.ModelProto:
    """The checker knows nothing of this domain."""
    return one(node("Riddle", "x", domain="com.microsoft"))


def test_who_has_something_against_a_model() -> None:
    assert why_invalid(valid()) is None
    checked, ran = why_invalid(refused_by_the_checker()), why_invalid(refused_by_the_runtime())
    assert checked is not None
    assert ran is not None
    assert checked.startswith("not valid ONNX: ")
    assert not ran.startswith("not valid ONNX: ")
    assert "Riddle" in ran
    assert all("\n" not in text and len(text) <= 320 for text in (checked, ran))


@pytest.mark.parametrize("proto", [refused_by_the_checker(), refused_by_the_runtime()], ids=["checker", "runtime"])
def test_what_trips_over_an_invalid_model_tells_what_is_wrong_with_it(proto: onnx.ModelProto) -> None:
    with pytest.raises(ModelError, match=r"model test: .*; export the model again") as told, invalid_models_told(proto):
        raise IndexError(3)
    assert isinstance(told.value.__cause__, IndexError)


@pytest.mark.parametrize("how", ["file", "pipe", "bytes"])
def test_a_model_is_told_to_be_invalid_wherever_it_came_from(how: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A file is loaded again for that; a pipe, which gives its bytes once, must not be waited for."""

    def trip(source: Source, **_: object) -> None:
        load(source)
        raise IndexError(3)

    monkeypatch.setattr(pipeline, "read", trip)
    path, data = tmp_path / "model.onnx", refused_by_the_runtime().SerializeToString()
    if how == "pipe":
        os.mkfifo(path)
        threading.Thread(target=path.write_bytes, args=(data,), daemon=True).start()
    else:
        path.write_bytes(data)
    with pytest.raises(ModelError, match=r"model test: .*Riddle.*; export the model again") as told:
        import_model(data if how == "bytes" else path)
    assert isinstance(told.value.__cause__, IndexError)


def test_our_mistakes_and_what_is_said_already_stay_what_they_are() -> None:
    with pytest.raises(IndexError), invalid_models_told(valid()):
        raise IndexError(3)
    for proto in (valid(), refused_by_the_checker()):
        with pytest.raises(TilewrightError, match=r"^said$"), invalid_models_told(proto):
            raise TilewrightError("said")
        with pytest.raises(KeyboardInterrupt), invalid_models_told(proto):
            raise KeyboardInterrupt
    with invalid_models_told(refused_by_the_checker()):
        pass


def conditional() -> onnx.ModelProto:
    """The inner graphs read the input."""

    def branch(op_type: str, name: str) -> onnx.GraphProto:
        inner = helper.make_node(op_type, ["x"], [name])
        return helper.make_graph([inner], name, [], [helper.make_tensor_value_info(name, TensorProto.FLOAT, (1, 3, 4, 4))])

    chosen = helper.make_node(
        "If", ["which"], ["i"], name="choice", then_branch=branch("Relu", "a"), else_branch=branch("Neg", "b")
    )
    nodes = [node("Conv", "x w", "c"), node("ReduceSum", "c", "s", keepdims=0), node("Cast", "s", "which", to=TensorProto.BOOL)]
    return model([*nodes, chosen, node("Add", "c i")], (1, 3, 4, 4), {"w": weights(3, 3, 1, 1)})


def test_an_input_that_inner_graphs_read_keeps_its_form() -> None:
    """It is what they read in any case, so another type, layout or scale would be another model."""
    assert imported(conditional()).graph.ops
    for edges in (Edges(input_type="uint8"), Edges(input_layout="nhwc"), Edges(mean=(1.0,))):
        with pytest.raises(ModelError, match="tensor x: is read inside of node choice"):
            imported(conditional(), edges=edges)


def test_an_input_that_is_an_output_too_keeps_its_form() -> None:
    proto = model([node("Conv", "x w")], (1, 3, 4, 4), {"w": weights(3, 3, 1, 1)}, outputs=("y", "x"))
    assert imported(proto).graph.ops
    with pytest.raises(ModelError, match="tensor x: is an output, too"):
        imported(proto, edges=Edges(mean=(1.0,)))


def test_weights_may_be_transposed_behind_their_quantisation() -> None:
    table: dict[str, Any] = {
        "s": np.array(0.05, np.float32), "z": np.array(3, np.int8), "t": np.array(0.3, np.float32),
        "w": np.eye(5, 7, dtype=np.int8) * 9,
        "ws": np.full(5, 0.1, np.float32), "wz": np.zeros(5, np.int8),
    }  # fmt: skip
    nodes = [
        node("DequantizeLinear", "x s z", "f"), node("DequantizeLinear", "w ws wz", "v", axis=0), node("Transpose", "v", "vt"),
        node("MatMul", "f vt", "m"), node("QuantizeLinear", "m t z"),
    ]  # fmt: skip
    found = imported(model(nodes, (2, 7), table, elem=TensorProto.INT8))
    assert not found.reasons
