"""Groups of a program that are joined with their neighbours, and the program that is chosen of them."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

import pytest

import compiler.fastest
import compiler.joins
from compiler.fastest import fastest
from compiler.fusion.legal import Mask
from compiler.joins import with_joins
from compiler.neighbours import Neighbours
from compiler.planning.objective import CYCLES
from compiler.planning.plan import Plan
from compiler.schedule.document import GroupSchedule
from compiler.search.cost import Evaluator
from compiler.search.decided import Decided
from compiler.search.effort import EFFORTS, Effort
from compiler.search.partition import price_of
from compiler.timing import program_cycles
from compiler.xgraph.graph import XGraph
from compiler.xgraph.ops import EltwiseKind
from isa.config import MachineConfig, preset
from tests.compiler.graphs import Builder, pointwise_chain
from tests.compiler.search.partitions import random_graph

NANO, ZU9 = preset("nano"), preset("zu9")
NORMAL = EFFORTS["normal"]
CHAIN = pointwise_chain(20, 6, 6, 8)


def residual_blocks(count: int) -> XGraph:
    """As late ResNets have them: small maps, and parameters that the bus is busy with."""
    b = Builder(0)
    x = b.input(7, 7, 1024)
    for _ in range(count):
        inner = b.conv(b.conv(x, 256, (1, 1)), 256, (3, 3))
        x = b.eltwise(EltwiseKind.ADD, b.conv(inner, 1024, (1, 1)), x)
    return b.graph(x)


def apart(graph: XGraph, config: MachineConfig) -> tuple[Neighbours, tuple[Mask, ...]]:
    """Each operation by itself."""
    evaluator = Evaluator(config, graph)
    neighbours = Neighbours(evaluator)
    return neighbours, neighbours.path([(op,) for op in evaluator.sets.ops])


def cost(neighbours: Neighbours, path: tuple[Mask, ...]) -> int:
    return sum(price_of(neighbours.evaluator, CYCLES, group) for group in neighbours.groups(path))


@pytest.mark.parametrize("most_ops", [2, 3, 64])
@pytest.mark.parametrize("seed", range(8))
def test_each_way_has_two_groups_joined_that_are_apart_in_the_one_before(seed: int, most_ops: int) -> None:
    neighbours, path = apart(random_graph(seed), NANO)
    sets = neighbours.evaluator.sets
    for before, after in pairwise([path, *with_joins(neighbours, path, most_ops)]):
        new = {*after} - {*before}
        old = {*before} - {*after}
        assert (len(new), len(old)) == (1, 2)
        assert sum(new) == sum(old)
        (both,) = new
        assert both.bit_count() <= most_ops
        assert sets.legal(both)
        assert cost(neighbours, after) < cost(neighbours, before)


def test_on_the_way_all_of_a_chain_is_joined() -> None:
    neighbours, path = apart(CHAIN, ZU9)
    ways = with_joins(neighbours, path, 64)
    assert ways[-1] == (neighbours.evaluator.sets.everything,)
    assert len(ways) == 19


def test_nothing_is_joined_to_more_operations_than_allowed() -> None:
    neighbours, path = apart(CHAIN, ZU9)
    assert with_joins(neighbours, path, 1) == []
    assert max(group.bit_count() for group in with_joins(neighbours, path, 6)[-1]) == 6


def test_what_is_hoped_to_save_too_little_is_not_planned(monkeypatch: pytest.MonkeyPatch) -> None:
    """No two groups save all of the program."""
    monkeypatch.setattr(compiler.joins, "WORTH", 1.0)
    neighbours, path = apart(CHAIN, ZU9)
    cost(neighbours, path)
    planned = neighbours.evaluator.evaluated
    assert with_joins(neighbours, path, 64) == []
    assert neighbours.evaluator.evaluated == planned


def chosen(graph: XGraph, config: MachineConfig, effort: Effort) -> tuple[int, int]:
    """Cycles and groups."""
    steps = fastest(Evaluator(config, graph, effort=effort))
    return program_cycles(config, graph, steps), sum(isinstance(step, Plan) for step in steps)


def test_residual_blocks_run_in_larger_groups_and_faster() -> None:
    graph = residual_blocks(12)
    without, more = chosen(graph, ZU9, replace(NORMAL, joined=0))
    cycles, fewer = chosen(graph, ZU9, NORMAL)
    assert cycles < without
    assert fewer < more


@pytest.mark.parametrize("seed", range(8))
def test_no_program_is_slower_for_it(seed: int) -> None:
    graph = random_graph(seed)
    assert chosen(graph, NANO, NORMAL)[0] <= chosen(graph, NANO, replace(NORMAL, joined=0))[0]


def test_what_saves_too_little_is_left_apart(monkeypatch: pytest.MonkeyPatch) -> None:
    """There would be less to choose from among schemes of fewer groups."""
    graph = residual_blocks(12)
    without = chosen(graph, ZU9, replace(NORMAL, joined=0))
    monkeypatch.setattr(compiler.fastest, "JOINED_GAIN", 0.99)
    assert chosen(graph, ZU9, NORMAL) == without


def test_what_a_schedule_decides_joins_nobody() -> None:
    graph = residual_blocks(6)
    ops = Evaluator(ZU9, graph).sets.ops
    pinned = [ops[4:8], ops[16:18]]
    evaluator = Decided(ZU9, graph, wanted={frozenset(own): GroupSchedule(()) for own in pinned})
    neighbours = Neighbours(evaluator)
    ways = with_joins(neighbours, neighbours.path(evaluator.whole(tuple((op,) for op in ops))), 64)
    assert ways
    for own in pinned:
        assert all(evaluator.sets.mask(own) in way for way in ways)
