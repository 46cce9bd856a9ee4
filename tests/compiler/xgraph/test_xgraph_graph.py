"""Graphs: who makes and who reads what, what is refused, and that parts on the host take their turn."""

from __future__ import annotations

from itertools import permutations

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper

import compiler.xgraph
from compiler.xgraph.graph import GraphError, XGraph, topological
from compiler.xgraph.ops import Concat, Cpu, Op, Port, Slice, Upsample, attributes
from compiler.xgraph.tensor import Quantisation, Tensor
from tests.compiler.host import HostExecutor
from tests.values import changeable

Q = Quantisation(1.0, 0)


def op(name: str, inputs: str, outputs: str) -> Op:
    return Op(name, tuple(inputs.split()), tuple(outputs.split()))


def graph(ops: list[Op], inputs: str, outputs: str, names: str = "a b c d e") -> XGraph:
    tensors = {name: Tensor(name, (1, 2, 3, 4), Q) for name in names.split()}
    return XGraph("g", tensors, tuple(ops), tuple(inputs.split()), tuple(outputs.split()))


def test_makers_and_readers() -> None:
    first, second, third = op("f", "a a", "b c"), op("s", "b a", "d"), op("t", "d b", "e")
    whole = graph([first, second, third], "a", "e c")
    assert [whole.producer(name) for name in "abcde"] == [None, first, first, second, third]
    assert [whole.consumers(name) for name in "abcde"] == [(first, second), (second, third), (), (third,), ()]
    assert [*whole.predecessors(third)] == [second, first]
    assert [*whole.predecessors(second)] == [first]
    assert [*whole.predecessors(first)] == []


@pytest.mark.parametrize(
    ("ops", "inputs", "outputs", "problem"),
    [
        ([op("f", "z", "b")], "a", "b", "operation f reads unknown tensor z"),
        ([op("f", "b", "c"), op("s", "a", "b")], "a", "c", "operation f reads b before it is made"),
        ([op("f", "a", "z")], "a", "a", "operation f makes unknown tensor z"),
        ([op("f", "a", "b"), op("s", "a", "b")], "a", "b", "tensor b is made twice"),
        ([op("f", "a", "b")], "a b", "b", "tensor b is made twice"),
        ([op("f", "a", "b")], "a", "c", "output c is never made"),
    ],
)
def test_graphs_that_contradict_themselves_are_refused(ops: list[Op], inputs: str, outputs: str, problem: str) -> None:
    with pytest.raises(GraphError, match=f"graph g: {problem}"):
        graph(ops, inputs, outputs)


def test_an_input_may_be_an_output() -> None:
    assert graph([], "a", "a").outputs == ("a",)


def test_other_operations_leave_the_tensors_that_they_name() -> None:
    first, second = op("f", "a", "b"), op("s", "b", "c")
    whole = graph([first, second], "a e", "c")
    less = whole.with_ops([op("one", "a", "c")])
    assert [*less.tensors] == ["a", "c", "e"]
    assert (less.name, less.inputs, less.outputs, [each.name for each in less.ops]) == ("g", ("a", "e"), ("c",), ["one"])
    assert less.producer("c") is less.ops[0]
    new = {**whole.tensors, "f": Tensor("f", (1, 1, 1, 1), Q)}
    assert [*whole.with_ops([first, op("s", "b", "f"), op("t", "f", "c")], new).tensors] == ["a", "b", "c", "e", "f"]


def test_operations_in_order() -> None:
    """Each after the makers of what it reads, and otherwise as they were given."""
    ops = [op("f", "a", "b"), op("s", "b", "c"), op("t", "a", "d"), op("u", "c d", "e")]
    for order in permutations(ops):
        found = topological(order, ["a"])
        assert sorted(each.name for each in found) == ["f", "s", "t", "u"]
        graph([*found], "a", "e")
    assert topological(ops, ["a"]) == tuple(ops)
    assert [each.name for each in topological([ops[3], ops[2], ops[0], ops[1]], ["a"])] == ["t", "f", "s", "u"]
    assert topological([], []) == ()
    for given, names in (([op("f", "a c", "b"), op("s", "b", "c")], "f, s"), ([ops[0], op("x", "z", "e")], "x")):
        with pytest.raises(GraphError, match=rf"operations form a cycle or read what nobody makes: {names}$"):
            topological(given, ["a"])
    many = [op(f"o{n}", "z", f"y{n}") for n in range(7)]
    with pytest.raises(GraphError, match=r"nobody makes: o0, o1, o2, o3, o4$"):
        topological(many, [])


def test_sides_of_a_tensor() -> None:
    tensor = Tensor("t", (2, 3, 5, 7), Q)
    assert (tensor.batch, tensor.height, tensor.width, tensor.channels, tensor.bytes) == (2, 3, 5, 7, 210)
    assert not tensor.flip


def test_attributes_are_all_but_names() -> None:
    assert attributes(Slice("s", ("a",), ("b",), (1, 2, 3), (4, 5))) == {"begin": (1, 2, 3), "step": (4, 5)}
    assert attributes(Concat("c", ("a",), ("b",))) == {"axis": 3}
    assert attributes(op("f", "a", "b")) == {}


def part(first: str, second: str) -> bytes:
    """``abs`` of one array of int8, and its greatest with another one."""
    ends = [helper.make_tensor_value_info(name, TensorProto.INT8, [1, 2, 4, 6]) for name in (first, second, "low", "high")]
    nodes = [helper.make_node("Abs", [first], ["low"]), helper.make_node("Max", ["low", second], ["high"])]
    made = helper.make_graph(nodes, "part", ends[:2], ends[2:])
    model = helper.make_model(made, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    onnx.checker.check_model(model)
    whole: bytes = model.SerializeToString()
    return whole


def test_parts_on_the_host_take_their_turn() -> None:
    """An upsampled map goes to the host as NCHW, and comes back as a map of which pixels are taken."""
    tensors = {name: Tensor(name, shape, Q) for name, shape in (
        ("x", (1, 2, 3, 2)), ("up", (1, 4, 6, 2)), ("back", (1, 4, 6, 2)), ("y", (1, 2, 3, 2)),
    )}  # fmt: skip
    nchw, small = (((48, 1),), ((1, 2),), ((12, 4),), ((2, 6),)), (((12, 1),), ((1, 2),), ((6, 2),), ((2, 3),))
    cpu = Cpu(
        "cpu", ("up",), ("back",), part("u", "given"), {}, ("u", "given"), ("low", "high"),
        (Port("u", "up", nchw), Port("high", "back", nchw)),
    )  # fmt: skip
    ops = (Upsample("up", ("x",), ("up",), (2, 2)), cpu, Slice("down", ("back",), ("y",), (1, 1, 0), (2, 2)))
    run = HostExecutor(XGraph("g", tensors, ops, ("x",), ("y",)), [Port("in", "x", small)], [Port("out", "y", small)])
    for seed in (0, 1):
        rng = np.random.default_rng(seed)
        x = rng.integers(-100, 100, (1, 2, 2, 3)).astype(np.int8)
        given = rng.integers(-100, 100, (1, 2, 4, 6)).astype(np.int8)
        found = run.run({"in": x, "given": given})
        up = x.repeat(2, axis=2).repeat(2, axis=3)
        expected = {"u": up, "low": np.abs(up), "high": np.maximum(np.abs(up), given), "in": x, "given": given}
        expected["out"] = expected["high"][:, :, 1::2, 1::2]
        assert found.keys() == expected.keys()
        assert all(np.array_equal(found[name], value) for name, value in expected.items())
        assert run.maps.keys() == tensors.keys()
        assert np.array_equal(run.maps["back"], expected["high"].transpose(0, 2, 3, 1))


def test_graphs_are_values() -> None:
    assert changeable(compiler.xgraph) == set()
