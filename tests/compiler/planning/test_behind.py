"""Walks that go on from group to group, beside the cycle model on the program of these groups."""

from __future__ import annotations

import random
from collections.abc import Callable

import pytest

from compiler.memory.storage import kin_of
from compiler.planning.behind import Row, cycles_behind
from compiler.planning.grouping import make_group
from compiler.planning.onward import FEW, Bus
from compiler.planning.plan import Plan
from compiler.planning.planner import plan_group, turned
from compiler.planning.plans import plans_of
from compiler.search.cost import Evaluator
from compiler.timing import program_cycles
from compiler.xgraph.graph import XGraph
from compiler.xgraph.ops import Concat, EltwiseKind, PoolKind
from isa.config import preset
from tests.compiler.graphs import Builder
from tests.compiler.search.partitions import random_graph

BASE = preset("base")


def convolutions(b: Builder) -> XGraph:
    return b.graph(b.conv(b.conv(b.conv(b.input(28, 28, 64), 64), 64), 64))


def pooled(b: Builder) -> XGraph:
    return b.graph(b.conv(b.pool(b.conv(b.input(28, 28, 64), 64), PoolKind.MAX, 3, 2, 1), 128))


def residual(b: Builder) -> XGraph:
    x = b.input(14, 14, 256)
    y = b.conv(b.conv(b.conv(x, 64, (1, 1)), 64), 256, (1, 1))
    return b.graph(b.eltwise(EltwiseKind.ADD, y, x))


def streaming(b: Builder) -> XGraph:
    """More weights than the buffer holds: they come under the group before as far as they have room."""
    return b.graph(b.conv(b.conv(b.input(14, 14, 256), 256), 256))


def dense(b: Builder) -> XGraph:
    """Nothing but weights: DRAM bounds it."""
    return b.graph(b.conv(b.conv(b.conv(b.input(14, 14, 128), 64), 1024, (14, 14), pads=(0, 0, 0, 0)), 256, (1, 1)))


def joined(b: Builder) -> XGraph:
    """Parts of a map in DRAM that comes from two groups."""
    x = b.input(28, 28, 64)
    parts = b.conv(x, 32), b.conv(x, 64, (1, 1))
    return b.graph(b.conv(b.view(Concat, "join", parts, (1, 28, 28, 96)), 64))


SHAPES = (convolutions, pooled, residual, streaming, dense, joined)


@pytest.mark.parametrize("config", ["base", "zu2", "zu9"])
@pytest.mark.parametrize("shape", SHAPES)
def test_groups_in_a_row_take_as_long_as_their_program(shape: Callable[[Builder], XGraph], config: str) -> None:
    machine = preset(config)
    graph = shape(Builder(0))
    plans = alone(config, graph)
    row = Row(machine, kin_of(graph))
    for plan in plans:
        end = row.add(plan)
    assert end == pytest.approx(program_cycles(machine, graph, plans), rel=0.08)


@pytest.mark.parametrize("shape", SHAPES)
def test_edges_add_up_to_the_row(shape: Callable[[Builder], XGraph]) -> None:
    graph = shape(Builder(0))
    plans = alone("base", graph)
    row = Row(BASE, kin_of(graph))
    for plan in plans:
        row.add(plan)
    pairs = zip([None, *plans], plans, strict=False)
    edges = [cycles_behind(BASE, first, second, kin_of(graph)) for first, second in pairs]
    assert sum(edges) == pytest.approx(row.end, rel=0.07)
    assert min(edges) > 0


def test_a_load_fills_the_gap_that_a_waiting_one_leaves() -> None:
    bus = Bus()
    assert bus.take(0.0, 100.0, 25.0, 1) == (25.0, 100.0)
    assert bus.take(300.0, 50.0, 50.0, 1) == (350.0, 350.0), "it waits, and leaves 200 cycles"
    assert bus.take(150.0, 50.0, 10.0, 1) == (160.0, 200.0), "in the middle of them"
    assert bus.take(0.0, 100.0, 60.0, 1) == (210.0, 250.0), "around that"
    assert bus.take(0.0, 100.0, 60.0, 1) == (360.0, 400.0), "what is left of the gap, and behind all"
    assert bus.gaps == []


@pytest.mark.parametrize("seed", range(50))
def test_no_cycle_of_dram_is_given_away_twice(seed: int) -> None:
    """Beside a bus of single cycles, each of which is free or taken."""
    rng = random.Random(seed)
    bus, taken = Bus(), [False] * 5000
    for _ in range(40):
        ready, size = rng.randrange(1000), rng.randrange(1, 60)
        first = rng.randint(1, size)
        free = [cycle for cycle in range(ready, len(taken)) if not taken[cycle]][:size]
        for cycle in free:
            taken[cycle] = True
        assert bus.take(ready, size, first, 1) == (free[first - 1] + 1, free[-1] + 1)


def test_old_gaps_are_forgotten_but_by_few_loads() -> None:
    bus = Bus()
    bus.take(100.0, 10.0, 10.0, 1)
    bus.forget(200.0)
    assert bus.gaps, "one load has left it behind"
    bus.take(0.0, 1.0, 1.0, FEW)
    bus.forget(50.0)
    assert bus.gaps == [(50.0, 100.0, 0)]
    bus.forget(200.0)
    assert bus.gaps == []


def test_a_copy_goes_its_own_way() -> None:
    first, second, third = alone("base", convolutions(Builder(0)))
    row = Row(BASE, {})
    row.add(first)
    other = row.copy()
    end = row.add(second)
    assert other.end < end
    assert other.add(second) == end
    assert row.add(third) == other.add(third)


def test_a_group_behind_another_neither_waits_for_all_of_it_nor_for_nothing() -> None:
    """It loads its weights under the other, but not what that one has yet to save."""
    first, second, _ = alone("base", convolutions(Builder(0)))
    behind, from_rest = cycles_behind(BASE, first, second), cycles_behind(BASE, None, second)
    busiest = max(second.group.beats.values())
    assert busiest <= behind < from_rest


@pytest.mark.parametrize("seed", range(12))
def test_a_plan_at_the_other_end_is_the_same_but_for_its_places(seed: int) -> None:
    for config in (preset("nano"), BASE):
        graph = random_graph(seed)
        evaluator = Evaluator(config, graph)
        for mask in range(1, evaluator.sets.everything + 1):
            if evaluator.sets.legal(mask):
                group = make_group(config, graph, evaluator.sets.members(mask))
                up, down = (plan_group(config, group, upwards=upwards) for upwards in (True, False))
                assert looks(turned(config, up)) == looks(down)
                assert looks(turned(config, down)) == looks(up)


def looks(plan: Plan) -> object:
    parts = [(p.placed, p.skew, p.ranges.steps, p.residence.stay, p.residence.streamed_bytes, p.loads) for p in plan.passes]
    return plan.upwards, plan.cost, plan.count, plan.tiles, plan.held, plan.way.placed, plan.way.in_turn, parts


def alone(config: str, graph: XGraph) -> list[Plan]:
    machine = preset(config)
    evaluator = Evaluator(machine, graph)
    return [step for step in plans_of(machine, graph, [(op,) for op in evaluator.sets.ops]) if isinstance(step, Plan)]


def test_parts_of_a_map_share_bytes_with_it_and_not_with_each_other() -> None:
    graph = joined(Builder(0))
    one, other = graph.ops[2].inputs
    kin = kin_of(graph)
    assert set(kin[graph.ops[2].output]) == {one, other, graph.ops[2].output}
    assert set(kin[one]) == {one, graph.ops[2].output}
    assert set(kin[other]) == {other, graph.ops[2].output}
