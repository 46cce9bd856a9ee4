"""What exporters leave behind: idle nodes go, transpositions meet, and every model computes what it computed."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper

from compiler.frontend.model import Model, to_proto
from compiler.frontend.reader import read
from compiler.frontend.session import run
from compiler.frontend.transposes import with_fewer_transposes
from compiler.frontend.types import with_types
from compiler.xgraph.ops import Cpu
from tests.compiler.frontend.quantised_models import check_exact, imported, model, node, weights

FIRST, LAST = [0, 3, 1, 2], [0, 2, 3, 1]
NHWC = (1, 6, 8, 4)


def kinds(found: Model) -> Counter[str]:
    return Counter(node.op_type for node in found.nodes)


def same(proto: onnx.ModelProto, found: Model, atol: float = 0.0) -> None:
    with_types(found)
    rng = np.random.default_rng(0)
    shapes = {i.name: [d.dim_value for d in i.type.tensor_type.shape.dim] for i in proto.graph.input}
    feeds = {name: rng.standard_normal(shape).astype(np.float32) for name, shape in shapes.items()}
    expected, made = run(proto, feeds), run(to_proto(found), feeds)
    for name, value in expected.items():
        assert np.allclose(made[name], value, rtol=0, atol=atol), name


FLOAT = TensorProto.FLOAT
IDLE: dict[str, tuple[onnx.NodeProto, dict[str, Any]]] = {
    "cast to the same type": (node("Cast", "x", "a", to=FLOAT), {}),
    "reshape to the same shape": (node("Reshape", "x s", "a"), {"s": np.array(NHWC)}),
    "repeated once": (node("Expand", "x s", "a"), {"s": np.array([1])}),
    "in the same order": (node("Transpose", "x", "a", perm=[0, 1, 2, 3]), {}),
    "joined with nothing": (node("Concat", "x", "a", axis=1), {}),
    "a sum of one": (node("Sum", "x", "a"), {}),
    "a pad of nothing": (node("Pad", "x s", "a"), {"s": np.zeros(8, np.int64)}),
    "at least minus infinity": (node("Max", "x s", "a"), {"s": np.float32(-np.inf)}),
    "at most infinity": (node("Min", "s x", "a"), {"s": np.float32(np.inf)}),
    "dropped out": (node("Dropout", "x", "a"), {}),
}


@pytest.mark.parametrize("name", IDLE)
def test_idle_nodes_go(name: str) -> None:
    idle, table = IDLE[name]
    proto = model([idle, node("Relu", "a")], NHWC, table)
    found = read(proto)
    assert kinds(found) == {"Relu": 1}
    same(proto, found)


BUSY: dict[str, tuple[onnx.NodeProto, dict[str, Any]]] = {
    "cast": (node("Cast", "x", "a", to=TensorProto.DOUBLE), {}),
    "reshape": (node("Reshape", "x s", "a"), {"s": np.array([4, 8, 6, 1])}),
    "repeated": (node("Expand", "x s", "a"), {"s": np.array([2, 6, 8, 4])}),
    "turned": (node("Transpose", "x", "a", perm=LAST), {}),
    "at least infinity": (node("Max", "x s", "a"), {"s": np.float32(np.inf)}),
    "made larger by a bound": (node("Max", "x s", "a"), {"s": np.full((2, 1, 1, 1), -np.inf, np.float32)}),
}


@pytest.mark.parametrize("name", BUSY)
def test_others_stay(name: str) -> None:
    busy, table = BUSY[name]
    assert kinds(read(model([busy, node("Identity", "a")], NHWC, table)))[busy.op_type] == 1


def test_shape_arithmetic_is_folded() -> None:
    """As exporters write the pads of a convolution with stride 2."""
    nodes = [
        node("Shape", "x", "shape"), node("Gather", "shape two", "rows"), node("Add", "rows one", "more"),
        node("Div", "more two", "half"), node("Cast", "half", "whole", to=TensorProto.INT64),
        node("Unsqueeze", "whole zero", "end"), node("Concat", "front end nothing end", "pads", axis=0),
        node("Pad", "x pads", "y"),
    ]  # fmt: skip
    table: dict[str, Any] = {
        "two": np.array(2), "one": np.array(1), "zero": np.array([0]), "front": np.zeros(4, np.int64),
        "nothing": np.zeros(2, np.int64),
    }  # fmt: skip
    proto = model(nodes, NHWC, table)
    found = read(proto)
    assert kinds(found) == {"Pad": 1}
    same(proto, found)


def layer(number: int, source: str, channels: int, *, more: bool = True) -> tuple[list[onnx.NodeProto], dict[str, Any]]:
    """A convolution with a transposition before and behind, and a batch normalisation spelt out with channels last."""
    n = str(number)
    nodes = [
        node("Transpose", source, "t" + n, perm=FIRST),
        node("Conv", f"t{n} w{n}", "c" + n, kernel_shape=[3, 3], pads=[1, 1, 1, 1]),
        node("Transpose", "c" + n, "l" + n, perm=LAST),
        node("Sub", f"l{n} mean{n}", "s" + n), node("Mul", f"s{n} scale{n}", "m" + n), node("Add", f"m{n} shift{n}", "a" + n),
        node("Relu", "a" + n, "r" + n),
    ]  # fmt: skip
    rng = np.random.default_rng(number)
    table = {f"{k}{n}": rng.uniform(0.5, 1.5, channels).astype(np.float32) for k in ("mean", "scale", "shift")}
    return nodes, {**table, "w" + n: weights(channels, 4 if number < 2 else channels, 3, 3)}


def network() -> onnx.ModelProto:
    """Two such layers, a residual sum, a join, a pad, and a mean over rows and columns."""
    nodes, table = layer(1, "x", 4)
    again, more = layer(2, "r1", 4)
    nodes += [
        *again, node("Add", "r1 r2", "sum"), node("Concat", "sum r2", "joined", axis=3), node("Pad", "joined pads", "padded"),
        node("Transpose", "padded", "turned", perm=FIRST), node("Conv", "turned v", "d"),
        node("Transpose", "d", "e", perm=LAST), node("ReduceMean", "e", "y", axes=[1, 2], keepdims=0),
    ]  # fmt: skip
    table |= more | {"pads": np.array([0, 1, 2, 0, 0, 1, 0, 0]), "v": weights(5, 8, 3, 3)}
    return model(nodes, NHWC, table)


def test_transpositions_around_every_layer_meet() -> None:
    proto = network()
    found = with_fewer_transposes(read(proto))
    assert kinds(found)["Transpose"] == 1, "the input's alone"
    same(proto, found, atol=1e-5)


@pytest.mark.parametrize("scheme", ["power_of_two", "free"])
def test_such_a_network_is_one_segment(scheme: str) -> None:
    found = imported(network(), scheme)
    assert [type(op) for op in found.graph.ops].count(Cpu) <= 2
    assert set(found.reasons) <= {"x_QuantizeLinear", "y_DequantizeLinear"}
    if scheme == "power_of_two":
        check_exact(found, seeds=1)


def test_what_stands_before_the_first_transposition_is_computed_behind_it() -> None:
    """The mean of each channel taken off and a pad, with channels last."""
    nodes = [
        node("Sub", "x mean", "a"), node("Pad", "a pads", "b"), node("Transpose", "b", "c", perm=FIRST),
        node("Conv", "c w", "d"),
    ]  # fmt: skip
    table: dict[str, Any] = {"mean": weights(4), "pads": np.array([0, 1, 2, 0, 0, 3, 0, 0]), "w": weights(5, 4, 3, 3)}
    proto = model([*nodes, node("Relu", "d")], NHWC, table)
    found = with_fewer_transposes(read(proto))
    assert [node.op_type for node in found.nodes] == ["Transpose", "Sub", "Pad", "Conv", "Relu"]
    same(proto, found)


def test_orders_that_do_not_meet_stay() -> None:
    """Nothing is saved where the order is asked for."""
    nodes = [node("Transpose", "x", "a", perm=LAST), node("Relu", "a", "b"), node("Softmax", "b", "y", axis=1)]
    found = read(model(nodes, NHWC, {}))
    assert with_fewer_transposes(found) is found


def test_outputs_keep_their_order_and_their_names() -> None:
    nodes = [
        node("Transpose", "x", "a", perm=FIRST), node("Relu", "a", "b"), node("Transpose", "b", "y", perm=LAST),
        node("Neg", "b", "z"),
    ]  # fmt: skip
    proto = model(nodes, NHWC, {}, outputs=("y", "b", "z"))
    same(proto, with_fewer_transposes(read(proto)))


@pytest.mark.parametrize("seed", range(12))
def test_random_chains(seed: int) -> None:
    """Of functions, pairs, pads, joins, reductions and transpositions."""
    rng = np.random.default_rng(seed)
    shape, name, nodes = list(NHWC), "x", []
    table: dict[str, Any] = {}
    for index in range(8):
        out, kind = f"v{index}", rng.choice(["Transpose", "Transpose", "Relu", "Add", "Mul", "Pad", "Concat", "ReduceMax"])
        match kind:
            case "Transpose":
                perm = [int(i) for i in rng.permutation(4)]
                nodes.append(node(kind, name, out, perm=perm))
                shape = [shape[i] for i in perm]
            case "Add" | "Mul":
                table[f"k{index}"] = weights(*[size if rng.random() < 0.5 else 1 for size in shape][rng.integers(0, 4) :])
                nodes.append(node(kind, f"{name} k{index}", out))
            case "Pad":
                table[f"k{index}"] = rng.integers(0, 2, 8)
                nodes.append(node(kind, f"{name} k{index}", out))
                shape = [int(s) for s in shape + table[f"k{index}"][:4] + table[f"k{index}"][4:]]
            case "Concat":
                axis = int(rng.integers(0, 4))
                nodes.append(node(kind, f"{name} {name}", out, axis=axis - 4))
                shape[axis] *= 2
            case "ReduceMax":
                axis = int(rng.integers(0, 4))
                nodes.append(node(kind, name, out, axes=[axis]))
                shape[axis] = 1
            case _:
                nodes.append(node(kind, name, out))
        name = out
    nodes.append(helper.make_node("Identity", [name], ["y"], "last"))
    proto = model(nodes, NHWC, table)
    whole = read(proto)
    found = with_fewer_transposes(whole)
    assert kinds(found)["Transpose"] <= kinds(whole)["Transpose"]
    same(proto, found)
