"""Queries, keys and values that one product makes and five dimensions part: slices of its features, in four dimensions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import helper

from compiler.frontend.heads import with_parts_sliced_first
from compiler.frontend.model import Model, to_proto
from compiler.frontend.reader import read
from compiler.frontend.session import run
from compiler.xgraph.ops import Cpu, Slice
from tests.compiler.frontend.quantised_models import check_exact, imported, model, node, weights

TOKENS, HEADS, WIDE = 6, 2, 8
AXIS = {"axis": np.array([0])}
Parts = list[onnx.NodeProto]


def gathered() -> Parts:
    return [node("Gather", f"t {index}", name, axis=0) for index, name in enumerate("qkv")]


def split() -> Parts:
    parts = helper.make_node("Split", ["t", "ones"], ["q5", "k5", "v5"], "split", axis=0)
    return [parts, *(node("Squeeze", f"{name}5 axis", name) for name in "qkv")]


def sliced() -> Parts:
    slices = [node("Slice", f"t at{index} at{index + 1} axis", f"{name}5") for index, name in enumerate("qkv")]
    return [*slices, *(node("Squeeze", f"{name}5 axis", name) for name in "qkv")]


def network(parts: Parts, perm: tuple[int, ...] = (2, 0, 3, 1, 4), shape: tuple[int, ...] = (1, TOKENS, 3, HEADS, WIDE)) -> Any:
    table: dict[str, Any] = {
        "w": weights(HEADS * WIDE, 3 * HEADS * WIDE, scale=0.2), "s": np.array(shape), "ones": np.ones(3, np.int64), **AXIS,
        **{str(index): np.array(index) for index in range(3)}, **{f"at{index}": np.array([index]) for index in range(4)},
    }  # fmt: skip
    nodes = [
        node("MatMul", "x w", "m"), node("Reshape", "m s", "r"), node("Transpose", "r", "t", perm=list(perm)), *parts,
        node("Add", "q k", "a"), node("Relu", "v", "b"), node("Add", "a b"),
    ]  # fmt: skip
    return model(nodes, (1, TOKENS, HEADS * WIDE), table)


def ranks(found: Model) -> int:
    return max(len(found.shape(name) or ()) for each in found.nodes for name in each.outputs)


@pytest.mark.parametrize("parts", [gathered, split, sliced])
def test_the_machine_slices_them(parts: Callable[[], Parts]) -> None:
    proto = network(parts())
    before = read(proto)
    after = with_parts_sliced_first(before)
    assert (ranks(before), ranks(after)) == (5, 4)
    feeds = {"x": np.random.default_rng(0).normal(size=(1, TOKENS, HEADS * WIDE)).astype(np.float32)}
    assert np.array_equal(run(to_proto(after), feeds)["y"], run(to_proto(before), feeds)["y"])
    found = imported(proto, "free")
    assert [type(op) for op in found.graph.ops].count(Cpu) == 2, "the ends alone are on the CPU"
    assert sum(isinstance(op, Slice) for op in found.graph.ops) == 3
    check_exact(found)


def test_parts_without_a_transposition() -> None:
    """Taken out of the third dimension, and then ordered each by itself."""
    nodes = [
        node("Reshape", "x s", "r"), node("Gather", "r zero", "q", axis=2), node("Gather", "r two", "k", axis=2),
        node("Mul", "q k"),
    ]  # fmt: skip
    table: dict[str, Any] = {"s": np.array([1, TOKENS, 3, HEADS, WIDE]), "zero": np.array(0), "two": np.array(-1)}
    before = read(model(nodes, (1, TOKENS, 3 * HEADS * WIDE), table))
    after = with_parts_sliced_first(before)
    assert ranks(after) == 4
    feeds = {"x": np.random.default_rng(0).normal(size=(1, TOKENS, 3 * HEADS * WIDE)).astype(np.float32)}
    assert np.array_equal(run(to_proto(after), feeds)["y"], run(to_proto(before), feeds)["y"])


LEFT: dict[str, Any] = {
    "heads outside the parts": lambda: network(gathered(), shape=(1, TOKENS, HEADS, 3, WIDE), perm=(3, 0, 2, 1, 4)),
    "another reader": lambda: network([*gathered(), node("Relu", "t", "more")]),
    "two indices": lambda: network([node("Gather", "t axis", "q"), *gathered()[1:]]),
}


@pytest.mark.parametrize("name", LEFT)
def test_others_stay(name: str) -> None:
    found = read(LEFT[name]())
    assert with_parts_sliced_first(found) is found
