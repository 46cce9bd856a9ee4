"""Graphs of thousands of operations: no recursion, no search that never ends."""

from __future__ import annotations

import math
from itertools import pairwise

import onnx
import pytest
from onnx import TensorProto, helper

from compiler import driver
from compiler.fusion.legal import OpSets
from compiler.fusion.templates import MOST_EMBEDDINGS, TEMPLATES, template_groups
from tests.compiler.frontend.quantised_models import imported, model, node, weights
from tests.e2e.network_runs import compiled

SHAPE = (1, 4, 4, 4)


def in_a_row(operator: str, count: int) -> onnx.ModelProto:
    names = ["x", *(f"t{number}" for number in range(1, count)), "y"]
    nodes = [helper.make_node(operator, [a], [b], f"n{number}") for number, (a, b) in enumerate(pairwise(names))]
    ends = [helper.make_tensor_value_info(name, TensorProto.FLOAT, SHAPE) for name in "xy"]
    graph = helper.make_graph(nodes, "row", ends[:1], ends[1:])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


def side_by_side(count: int) -> onnx.ModelProto:
    names = [f"y{number}" for number in range(count)]
    return model([node("Conv", "x w", name) for name in names], SHAPE, {"w": weights(4, 4, 1, 1)}, names)


def test_functions_of_one_value_in_a_row_longer_than_python_calls() -> None:
    assert len(imported(in_a_row("Abs", 1200)).graph.ops) < 1200


def test_many_operations_on_one_map_are_not_put_together_in_every_way() -> None:
    count = 40
    sets = OpSets(imported(side_by_side(count)).graph)
    assert math.comb(count, 4) > 2 * MOST_EMBEDDINGS * count
    assert 0 < len(template_groups(sets)) <= len(TEMPLATES) * MOST_EMBEDDINGS * count


def test_a_graph_that_is_too_large_to_search_is_fused_greedily(monkeypatch: pytest.MonkeyPatch) -> None:
    nodes = [node("Conv", "x w", "a"), node("Conv", "a w", "b"), node("Conv", "b w", "y")]
    small = model(nodes, SHAPE, {"w": weights(4, 4, 1, 1)})
    greedy = compiled(small, "nano", strategy="greedy").program
    monkeypatch.setattr(driver, "MOST_SEARCHED", 2)
    assert compiled(small, "nano", strategy="best").program.words == greedy.words
