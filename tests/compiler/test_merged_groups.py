"""Groups of a program that are merged with their neighbours, and the program that is chosen of them."""

from __future__ import annotations

from itertools import pairwise
from unittest import mock

import pytest

import compiler.fastest
import compiler.merged_groups
from compiler.fastest import fastest
from compiler.fusion.legal import Mask
from compiler.merged_groups import with_merged_groups
from compiler.neighbours import Neighbours
from compiler.planning.objective import CYCLES
from compiler.planning.plan import Plan
from compiler.schedule.document import GroupSchedule
from compiler.search.cost import Evaluator
from compiler.search.decided import Decided
from compiler.search.partition import price_of
from compiler.timing import program_cycles
from compiler.xgraph.graph import XGraph
from compiler.xgraph.ops import EltwiseKind
from isa.config import MachineConfig, preset
from tests.compiler.graphs import Builder, pointwise_chain
from tests.compiler.search.partitions import random_graph

NANO, ZU9 = preset("nano"), preset("zu9")
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


@pytest.mark.parametrize("seed", range(8))
def test_each_way_has_two_groups_merged_that_are_apart_in_the_one_before(seed: int) -> None:
    neighbours, path = apart(random_graph(seed), NANO)
    sets = neighbours.evaluator.sets
    for before, after in pairwise([path, *with_merged_groups(neighbours, path)]):
        new = {*after} - {*before}
        old = {*before} - {*after}
        assert (len(new), len(old)) == (1, 2)
        assert sum(new) == sum(old)
        (both,) = new
        assert sets.legal(both)
        assert cost(neighbours, after) < cost(neighbours, before)


def test_on_the_way_all_of_a_chain_is_merged() -> None:
    neighbours, path = apart(CHAIN, ZU9)
    ways = with_merged_groups(neighbours, path)
    assert ways[-1] == (neighbours.evaluator.sets.everything,)
    assert len(ways) == 19


def test_what_is_hoped_to_save_too_little_is_not_planned(monkeypatch: pytest.MonkeyPatch) -> None:
    """No two groups save all of the program."""
    monkeypatch.setattr(compiler.merged_groups, "WORTH", 1.0)
    neighbours, path = apart(CHAIN, ZU9)
    cost(neighbours, path)
    planned = neighbours.evaluator.evaluated
    assert with_merged_groups(neighbours, path) == []
    assert neighbours.evaluator.evaluated == planned


def chosen(graph: XGraph, config: MachineConfig, worth: float = compiler.merged_groups.WORTH) -> tuple[int, int]:
    """Cycles and groups."""
    with mock.patch.object(compiler.merged_groups, "WORTH", worth):
        steps = fastest(Evaluator(config, graph))
    return program_cycles(config, graph, steps), sum(isinstance(step, Plan) for step in steps)


def unmerged(graph: XGraph, config: MachineConfig) -> tuple[int, int]:
    """The same where nothing is merged, for nothing saves all of the program."""
    return chosen(graph, config, worth=1.0)


def test_residual_blocks_run_in_larger_groups_and_faster() -> None:
    graph = residual_blocks(12)
    without, more = unmerged(graph, ZU9)
    cycles, fewer = chosen(graph, ZU9)
    assert cycles < without
    assert fewer < more


@pytest.mark.parametrize("config", [preset("base"), ZU9], ids=lambda config: config.name)
@pytest.mark.parametrize("blocks", [3, 6, 9])
def test_no_program_is_slower_for_it(blocks: int, config: MachineConfig) -> None:
    graph = residual_blocks(blocks)
    assert chosen(graph, config)[0] <= unmerged(graph, config)[0]


def test_what_saves_too_little_is_left_apart(monkeypatch: pytest.MonkeyPatch) -> None:
    """There would be less to choose from among schemes of fewer groups."""
    graph = residual_blocks(12)
    monkeypatch.setattr(compiler.fastest, "MERGED_GAIN", 0.99)
    assert chosen(graph, ZU9) == unmerged(graph, ZU9)


def test_what_a_schedule_decides_is_merged_with_nobody() -> None:
    graph = residual_blocks(6)
    ops = Evaluator(ZU9, graph).sets.ops
    pinned = [ops[4:8], ops[16:18]]
    evaluator = Decided(ZU9, graph, wanted={frozenset(own): GroupSchedule(()) for own in pinned})
    neighbours = Neighbours(evaluator)
    ways = with_merged_groups(neighbours, neighbours.path(evaluator.whole(tuple((op,) for op in ops))))
    assert ways
    for own in pinned:
        assert all(evaluator.sets.mask(own) in way for way in ways)
