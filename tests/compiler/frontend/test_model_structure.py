"""Models that onnx's checker refuses and nothing else trips over."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

from compiler.frontend.errors import ModelError
from compiler.frontend.reader import read

OPSETS = [helper.make_opsetid("", 17), helper.make_opsetid("f", 1)]


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


def nested(depth: int) -> onnx.ModelProto:
    """A function of two calls of a function of two calls, and so on: 2^depth nodes."""
    functions = []
    for level in range(depth):
        calls = ("Relu", "") if level == 0 else (f"f{level - 1}", "f")
        nodes = [helper.make_node(calls[0], [a], [b], domain=calls[1]) for a, b in (("a", "t"), ("t", "b"))]
        functions.append(helper.make_function("f", f"f{level}", ["a"], ["b"], nodes, OPSETS))
    ends = [helper.make_tensor_value_info(name, TensorProto.FLOAT, [2, 3]) for name in "xy"]
    graph = helper.make_graph([helper.make_node(f"f{depth - 1}", ["x"], ["y"], domain="f")], "g", ends[:1], ends[1:])
    return helper.make_model(graph, opset_imports=OPSETS, functions=functions, ir_version=8)


def test_functions_within_functions_are_counted_before_they_are_opened() -> None:
    assert len(read(nested(3)).nodes) == 8
    with pytest.raises(ModelError, match="model g: 2147483648 nodes, at most 50000 are expected; --nodes allows more"):
        read(nested(31))
    with pytest.raises(ModelError, match="more than a million million nodes"):
        read(nested(3000))
    with pytest.raises(ModelError, match="8 nodes, at most 7 are expected"):
        read(nested(3), nodes=7)


def test_a_function_that_calls_itself() -> None:
    model = nested(2)
    model.functions[0].node[0].op_type, model.functions[0].node[0].domain = "f1", "f"
    with pytest.raises(ModelError, match=r"function 'f[01]' calls itself"):
        read(model)


@pytest.mark.parametrize(("turns", "left"), [(3, 1), (2**62, 2)])
def test_long_loops_over_constants_stay(turns: int, left: int) -> None:
    value = helper.make_tensor_value_info
    body = helper.make_graph(
        [helper.make_node("Add", ["a", "one"], ["b"]), helper.make_node("Identity", ["go"], ["on"])], "body",
        [value("turn", TensorProto.INT64, []), value("go", TensorProto.BOOL, []), value("a", TensorProto.FLOAT, [])],
        [value("on", TensorProto.BOOL, []), value("b", TensorProto.FLOAT, [])],
    )  # fmt: skip
    model = small()
    constants = {"turns": np.array(turns), "go_on": np.array(True), "one": np.array(1, np.float32)}
    model.graph.initializer.extend(numpy_helper.from_array(array, name) for name, array in constants.items())
    del model.graph.initializer[0]
    model.graph.node.insert(0, helper.make_node("Loop", ["turns", "go_on", "one"], ["c"], "loop", body=body))
    assert len(read(model).nodes) == left
