"""Graphs of thousands of operations: no recursion, no search that never ends."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from itertools import pairwise

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper

from bench import large_models
from compiler.fusion.legal import OpSets, bits_of
from compiler.fusion.templates import MOST_EMBEDDINGS, TEMPLATES, template_groups
from compiler.planning.objective import CYCLES
from compiler.search import strategies
from compiler.search.cost import Evaluator
from compiler.search.effort import effort_of
from compiler.search.promising import promising
from compiler.tuned import CROWD, MOST_PROMISING_OPS
from isa.config import preset
from tests.compiler.frontend.quantised_models import imported, model, node, weights
from tests.e2e.network_runs import compiled
from tilewright.compiling import compile_model

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


def crowd_and_more(count: int) -> OpSets:
    """So many that read one map that is made, one behind the other of them, and a sum of these two."""
    names = [f"y{number}" for number in range(count)]
    nodes = [node("Conv", "x w", "m"), *(node("Conv", "m w", name) for name in names)]
    nodes += [node("Conv", f"{names[-1]} w", "z"), node("Add", f"z {names[0]}", "s")]
    return OpSets(imported(model(nodes, SHAPE, {"w": weights(4, 4, 1, 1)}, [*names[1:-1], "s"])).graph)


@pytest.mark.parametrize("count", [2, 5, CROWD + 4])
def test_who_joins_whom_and_who_runs_behind_whom(count: int) -> None:
    """Beside what is read off the graph, operation by operation."""
    sets = crowd_and_more(count)
    reads = [set(op.inputs) for op in sets.ops]
    makes = [{op.output} for op in sets.ops]
    every = range(len(sets.ops))
    shares = [{b for b in every if a != b and reads[a] & reads[b]} for a in every]
    feeds = [{b for b in every if makes[a] & reads[b] or makes[b] & reads[a]} for a in every]
    behind: list[set[int]] = [set() for _ in every]
    for a in reversed(every):
        behind[a] = {c for b in every if makes[a] & reads[b] for c in (b, *behind[b])}
    assert [{*bits_of(mask)} for mask in sets.shares] == shares
    assert [{*bits_of(mask)} for mask in sets.joins] == [a | b for a, b in zip(feeds, shares, strict=True)]
    assert [{*bits_of(mask)} for mask in sets.descendants] == behind
    if count <= CROWD:
        assert sets.near == sets.joins


def test_of_a_crowd_neighbours_join_and_the_first_joins_the_maker() -> None:
    near = [{*bits_of(mask)} for mask in crowd_and_more(CROWD + 4).near]
    last = CROWD + 4
    assert near[0] == {1}
    assert near[1] == {0, 2, last + 2}, "the maker, the next one, the sum"
    assert all(near[number] == {number - 1, number + 1} for number in range(2, last))
    assert near[last] == {last - 1, last + 1}
    assert near[last + 2] == {1, last + 1}


def test_a_search_among_operations_side_by_side_takes_groups_in_proportion() -> None:
    count = 4 * CROWD
    evaluator = Evaluator(preset("nano"), imported(side_by_side(count)).graph, effort=effort_of("quick"))
    found = promising(evaluator, CYCLES, 200)
    assert count < len(found.groups) + found.left_out <= count * MOST_PROMISING_OPS


def test_a_graph_that_is_too_large_to_search_is_fused_greedily(monkeypatch: pytest.MonkeyPatch) -> None:
    nodes = [node("Conv", "x w", "a"), node("Conv", "a w", "b"), node("Conv", "b w", "y")]
    small = model(nodes, SHAPE, {"w": weights(4, 4, 1, 1)})
    greedy = compiled(small, "nano", strategy="greedy").program
    monkeypatch.setattr(strategies, "MOST_SEARCHED", 2)
    assert compiled(small, "nano", strategy="best").program.words == greedy.words


@pytest.mark.slow
@pytest.mark.parametrize(("form", "count"), [(large_models.side_by_side, 300), (large_models.many_outputs, 2000)])
def test_what_has_taken_minutes_takes_seconds(form: Callable[[int], onnx.ModelProto], count: int) -> None:
    """Of one core, and some times as many as measured: ``python -m bench.large_models`` tells how many."""
    since = time.process_time()
    found = compile_model(form(count), "nano", effort="quick", calibration={"x": np.ones(SHAPE, np.float32)}, cache=False)
    assert time.process_time() - since < 120
    assert sum(len(plan.group.layers) for plan in found.plans) >= count
