"""Models that onnx's checker refuses and nothing else trips over."""

from __future__ import annotations

from collections.abc import Callable

import onnx
import pytest
from onnx import TensorProto, helper

from compiler.frontend.errors import ModelError
from compiler.frontend.reader import read


def small() -> onnx.ModelProto:
    """y = x + c."""
    ends = [helper.make_tensor_value_info(name, TensorProto.FLOAT, [2, 3]) for name in "xy"]
    constant = helper.make_tensor("c", TensorProto.FLOAT, [3], [1, 2, 3])
    graph = helper.make_graph([helper.make_node("Add", ["x", "c"], ["y"], "add")], "g", ends[:1], ends[1:], [constant])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


def in_a_branch(change: Callable[[onnx.GraphProto], None]) -> Callable[[onnx.ModelProto], None]:
    def apply(model: onnx.ModelProto) -> None:
        inner = onnx.GraphProto()
        inner.CopyFrom(model.graph)
        change(inner)
        model.graph.node.append(helper.make_node("If", ["b"], ["z"], "if", then_branch=inner, else_branch=inner))

    return apply


def twice(graph: onnx.GraphProto) -> None:
    graph.initializer.append(graph.initializer[0])


def negative(model: onnx.ModelProto) -> None:
    model.graph.initializer[0].dims[0] = -1


CASES: dict[str, tuple[Callable[[onnx.ModelProto], object], str]] = {
    "no version": (lambda m: m.ClearField("ir_version"), "ir_version is missing, at least 1 is expected"),
    "constant twice": (lambda m: twice(m.graph), "constant 'c' is given twice"),
    "constant twice in a branch": (in_a_branch(twice), "constant 'c' is given twice"),
    "input twice": (lambda m: m.graph.input.append(m.graph.input[0]), "input 'x' is given twice"),
    "output twice": (lambda m: m.graph.output.append(m.graph.output[0]), "output 'y' is given twice"),
    "negative size": (negative, "constant 'c' has a dimension of -1, a size is expected"),
    "negative input": (
        lambda m: setattr(m.graph.input[0].type.tensor_type.shape.dim[0], "dim_value", -2), "input 'x' has a dimension of -2"
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("as_bytes", [False, True])
def test_it_is_refused_and_told(case: str, as_bytes: bool) -> None:
    change, message = CASES[case]
    model = small()
    change(model)
    with pytest.raises(ModelError, match=f"^the model: {message}.*; export the model again$"):
        read(model.SerializeToString() if as_bytes else model)


def test_minus_one_is_a_free_batch_as_onnxruntime_takes_it() -> None:
    model = small()
    model.graph.input[0].type.tensor_type.shape.dim[0].dim_value = -1
    assert read(model, batch=4).shape("x") == (4, 3)
