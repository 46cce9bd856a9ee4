"""Measures of groups decide, whatever the strategy, and nothing that is told of a group otherwise."""

from __future__ import annotations

import zlib
from pathlib import Path

import pytest

from compiler.driver import frugal_steps
from compiler.planning.objective import CYCLES, DRAM, Cost
from compiler.planning.plan import Plan
from compiler.schedule.document import GroupSchedule, Schedule
from compiler.search.cost import Evaluator
from compiler.search.database import open_database
from compiler.search.decided import Decided
from compiler.search.partition import price_of
from compiler.search.strategies import STRATEGIES
from compiler.xgraph.graph import XGraph
from compiler.xgraph.ops import EltwiseKind, PoolKind
from isa.config import preset
from isa.errors import TilewrightError
from tests.compiler.graphs import Builder
from tests.compiler.search.partitions import all_groups, all_partitions, random_graph, runs

NANO = preset("nano")
DEAR = 10**6
FUSING = [name for name in STRATEGIES if name != "naive"]


def graph() -> XGraph:
    """Something to fuse for every strategy: templates, an element-wise operation, and readers that share a map."""
    b = Builder(0)
    x = b.conv(b.input(12, 12, 8), 8)
    x = b.eltwise(EltwiseKind.ADD, b.conv(x, 8), b.conv(x, 8, (1, 1)))
    return b.graph(b.pool(b.conv(x, 8, (1, 1)), PoolKind.MAX))


def together_is_dear(of: XGraph, plan: Plan) -> int:
    return DEAR if len(plan.group.layers) > 1 else 1


def alone_is_dear(of: XGraph, plan: Plan) -> int:
    return 1 if len(plan.group.layers) > 1 else DEAR


def by_name(of: XGraph, plan: Plan) -> int:
    """Nothing that a formula could tell."""
    return 100_000 + zlib.crc32(plan.group.name.encode()) % 100_000


@pytest.mark.parametrize("name", FUSING)
def test_where_groups_are_dear_no_strategy_makes_one(name: str) -> None:
    told, measured = Evaluator(NANO, graph()), Evaluator(NANO, graph(), measure=together_is_dear)
    fused = STRATEGIES[name](told.graph, told, CYCLES).groups
    assert max(map(len, fused)) > 1, "without a measure the strategy fuses here"
    found = STRATEGIES[name](measured.graph, measured, CYCLES)
    assert [len(group) for group in found.groups] == [1] * len(measured.sets.ops)
    assert found.value == len(measured.sets.ops)


@pytest.mark.parametrize("name", FUSING)
def test_where_single_operations_are_dear_every_strategy_makes_groups(name: str) -> None:
    measured = Evaluator(NANO, graph(), measure=alone_is_dear)
    found = STRATEGIES[name](measured.graph, measured, CYCLES)
    assert max(map(len, found.groups)) > 1
    assert found.value < DEAR * len(measured.sets.ops)
    assert runs(measured.graph, found.groups)


@pytest.mark.parametrize("name", STRATEGIES)
def test_the_program_has_the_groups_that_the_measure_makes_cheapest(name: str) -> None:
    """Whole programs and schemes are timed after that: they choose among these."""
    steps = frugal_steps(NANO, graph(), name, "cycles", measure=together_is_dear).steps
    assert [len(step.group.layers) for step in steps if isinstance(step, Plan)] == [1] * len(graph().ops)


@pytest.mark.parametrize("name", ["optimus-as-written", "best"])
@pytest.mark.parametrize("seed", range(8))
def test_the_least_of_all_partitions_by_the_measure_is_found(seed: int, name: str) -> None:
    measured = Evaluator(NANO, random_graph(seed), measure=by_name)
    sets = measured.sets
    fitting = [mask for mask in all_groups(sets, sets.joins) if measured.cost_of(mask, CYCLES) is not None]
    partitions = (p for p in all_partitions(sets, fitting) if sets.in_order(p) is not None)
    least = min(sum(price_of(measured, CYCLES, mask) for mask in p) for p in partitions)
    assert STRATEGIES[name](measured.graph, measured, CYCLES).value == least


@pytest.mark.parametrize("name", ["optimus-as-written", "optimus-online-as-written", "dnnvm-as-written"])
def test_a_measure_of_cycles_leaves_bytes_as_planned(name: str) -> None:
    of = graph()
    measured, told = Evaluator(NANO, of, measure=together_is_dear), Evaluator(NANO, of)
    found = STRATEGIES[name](of, measured, DRAM)
    assert found.value == sum(price_of(told, DRAM, told.sets.mask(group)) for group in found.groups)
    assert max(map(len, found.groups)) > 1


@pytest.mark.parametrize("name", STRATEGIES)
def test_what_a_schedule_leaves_open_is_weighed(name: str) -> None:
    of = graph()
    decided = Schedule((GroupSchedule((of.ops[0].name, of.ops[2].name)),))
    steps = frugal_steps(NANO, of, name, "cycles", schedule=decided, measure=together_is_dear).steps
    assert [len(step.group.layers) for step in steps if isinstance(step, Plan)] == [2, *[1] * (len(of.ops) - 2)]


def test_a_decided_group_costs_what_is_measured() -> None:
    of = graph()
    around = Decided(NANO, of, wanted={frozenset(of.ops[:2]): GroupSchedule(())}, measure=together_is_dear)
    found, plan = around.cost_of(3, CYCLES), around.plan(3, CYCLES)
    assert plan is not None
    assert found == Cost(DEAR, plan.cost.dram_bytes)


def test_a_schedule_of_all_groups_leaves_nothing_to_weigh() -> None:
    of = graph()
    whole = Schedule(tuple(GroupSchedule((op.name,)) for op in of.ops))
    with pytest.raises(TilewrightError, match="evaluator: groups are decided already, nothing is left to weigh"):
        frugal_steps(NANO, of, "optimus", "cycles", schedule=whole, measure=together_is_dear)


def test_what_was_told_before_is_not_taken_for_measured_nor_kept(tmp_path: Path) -> None:
    database = open_database(NANO, tmp_path)
    told = Evaluator(NANO, graph(), database)
    for n in range(len(told.sets.ops)):
        told.cost_of(1 << n, CYCLES)
    before = len(database)
    steps = frugal_steps(NANO, graph(), "dnnvm", "cycles", database, told.known, measure=together_is_dear).steps
    assert {len(step.group.layers) for step in steps if isinstance(step, Plan)} == {1}
    assert len(database) == before
