"""Searches around groups that are decided, beside the graph with each of these groups as one operation."""

from __future__ import annotations

import json
import random
from functools import cache
from pathlib import Path

import networkx
import pytest

from compiler.fusion.legal import Mask, OpSets, bits_of
from compiler.planning.objective import CYCLES, DRAM, Cost
from compiler.planning.plan import Plan
from compiler.planning.plan_group import plan_group
from compiler.planning.plan_partition import Wanted
from compiler.programs.measured import on_cycle_model
from compiler.programs.timing import program_cycles
from compiler.schedule.document import GroupSchedule
from compiler.search.cost import Evaluator
from compiler.search.crew import Crew
from compiler.search.database import open_database
from compiler.search.decided import Decided, DecidedSets
from compiler.search.strategies import STRATEGIES
from compiler.xgraph.graph import XGraph
from compiler.xgraph.ops import PoolKind
from isa.config import preset
from tests.compiler.graphs import Builder
from tests.compiler.search.partitions import all_groups, all_partitions, random_graph

NANO = preset("nano")
SEEDS = range(15)


@cache
def drawn(seed: int) -> tuple[XGraph, list[Mask]]:
    """A graph, and some groups of a partition that can run, one of several operations among them if there is any."""
    graph = random_graph(seed, 7)
    sets = OpSets(graph)
    rng = random.Random(seed)
    partitions = [p for p in all_partitions(sets, all_groups(sets, sets.joins)) if sets.in_order(p) is not None]
    chosen = rng.choice([p for p in partitions if max(map(int.bit_count, p)) > 1] or partitions)
    largest = sorted(chosen, key=int.bit_count, reverse=True)
    return graph, largest[: rng.randint(1, 2)]


@pytest.mark.parametrize("seed", SEEDS)
def test_a_decided_group_is_as_one_operation(seed: int) -> None:
    graph, decided = drawn(seed)
    plain, sets = OpSets(graph), DecidedSets(graph, {}, decided)
    whole = {n: next((mask for mask in decided if mask >> n & 1), 1 << n) for n in range(len(plain.ops))}
    flow: networkx.DiGraph = networkx.DiGraph()
    flow.add_nodes_from(whole.values())
    flow.add_edges_from(
        (whole[before], whole[n]) for n in whole for before in bits_of(plain.needs[n]) if whole[before] != whole[n]
    )
    taken = sum(decided)
    for n, group in whole.items():
        assert sets.needs[n] == sum(flow.predecessors(group))
        assert sets.ancestors[n] == sum(networkx.ancestors(flow, group))
        assert sets.descendants[n] == sum(networkx.descendants(flow, group))
        others = plain.everything & ~(1 << n)
        assert sets.apart[n] == (others if taken >> n & 1 else plain.apart[n] | taken)


def test_what_is_ahead_is_found_however_far_members_lie_apart() -> None:
    """The first and the last operation of a chain are one group: all between are before it and behind it."""
    b = Builder(0)
    x = b.input(6, 6, 8)
    for _ in range(5):
        x = b.conv(x, 8, (1, 1))
    sets = DecidedSets(b.graph(x), {}, [0b10001])
    assert sets.ancestors == [0b11111, 0b10001 | 0b11110, 0b10001 | 0b11110, 0b10001 | 0b11110, 0b11111]


@pytest.mark.parametrize("seed", SEEDS)
def test_decided_groups_cost_what_their_plan_does_and_members_nothing(seed: int) -> None:
    graph, decided = drawn(seed)
    plain = Evaluator(NANO, graph)
    known = Decided(NANO, graph, wanted={frozenset(plain.sets.members(mask)): GroupSchedule(()) for mask in decided})
    taken = sum(decided)
    for mask in all_groups(plain.sets, plain.sets.joins):
        found = known.cost_of(mask, DRAM)
        if mask in decided:
            plan = plan_group(NANO, plain.group(mask), DRAM)
            assert found == plan.cost
            assert isinstance(known.plan(mask, DRAM), Plan)
        elif mask & taken:
            assert found == (Cost(0, 0) if mask.bit_count() == 1 else None)
        else:
            assert found == plain.cost_of(mask, DRAM)
            assert (known.plan(mask, DRAM) is None) == (found is None)


def test_what_is_planned_for_another_objective_is_kept_apart() -> None:
    b = Builder(0)
    graph = b.graph(b.conv(b.conv(b.input(12, 12, 16), 32), 16))
    both = Evaluator(NANO, graph).sets.everything
    known = Decided(NANO, graph, wanted={frozenset(graph.ops): GroupSchedule(())})
    for objective in (DRAM, CYCLES, DRAM):
        assert known.cost_of(both, objective) == plan_group(NANO, known.group(both), objective).cost
    fixed = Decided(NANO, graph, wanted={frozenset(graph.ops): GroupSchedule(())}, planned_for=CYCLES)
    assert fixed.cost_of(both, DRAM) == known.cost_of(both, CYCLES)
    assert known.plan(both, DRAM) is known.plan(both, DRAM), "planned once"


@pytest.mark.parametrize("seed", SEEDS)
def test_members_are_put_together_again_in_an_order_that_runs(seed: int) -> None:
    graph, decided = drawn(seed)
    sets = OpSets(graph)
    known = Decided(NANO, graph, wanted={frozenset(sets.members(mask)): GroupSchedule(()) for mask in decided})
    groups = known.whole(tuple((op,) for op in sets.ops))
    masks = [sets.mask(group) for group in groups]
    assert {*decided} <= {*masks}
    assert sum(masks) == sets.everything
    assert len(masks) == len(decided) + len(sets.ops) - sum(mask.bit_count() for mask in decided)
    done = 0
    for mask in masks:
        assert all(sets.needs[n] & ~(done | mask) == 0 for n in bits_of(mask))
        done |= mask


def chain() -> tuple[XGraph, Wanted]:
    """Many shapes, but the first operation has that of the last, which is decided, and dear."""
    b = Builder(0)
    x = b.input(24, 24, 8)
    for channels in (8, 12, 16, 20, 16, 12, 8):
        x = b.pool(b.conv(x, channels), PoolKind.MAX, 3, 1, 1)
    graph = b.graph(b.conv(x, 8))
    return graph, {frozenset(graph.ops[-1:]): GroupSchedule((graph.ops[-1].name,), passes=2)}


def test_a_helper_plans_nothing_that_is_decided() -> None:
    graph, wanted = chain()
    alone = [1 << n for n in range(len(graph.ops))]
    with Crew(2) as crew:
        around = Decided(NANO, graph, wanted=wanted, crew=crew)
        around.plan_all(alone, CYCLES)
        assert around._planners is not None
        assert around._planners.helper is not None
    plain = Evaluator(NANO, graph)
    assert around.shapes.key(alone[0]) == around.shapes.key(alone[-1])
    assert around.cost_of(alone[-1], CYCLES) != plain.cost_of(alone[-1], CYCLES)
    for mask in alone[:-1]:
        assert around.cost_of(mask, CYCLES) == plain.cost_of(mask, CYCLES)


@pytest.mark.parametrize("strategy", ["optimus", "best"])
def test_around_a_schedule_one_core_and_two_weigh_the_same_groups(strategy: str, tmp_path: Path) -> None:
    graph, wanted = chain()
    found = []
    for cores in (1, 2):
        database = open_database(NANO, tmp_path / str(cores))
        with Crew(cores) as crew:
            around = Decided(NANO, graph, database, wanted=wanted, crew=crew)
            partition = STRATEGIES[strategy](graph, around, CYCLES)
            assert (around._planners is not None) == (cores == 2)
        database.save()
        kept = json.loads(database.path.read_text().partition("\n")[2])
        found.append((partition, around.weighed(CYCLES), around.evaluated, kept))
    assert found[0] == found[1]


# Costs that are measured


def test_cycles_are_as_measured_and_bytes_as_planned() -> None:
    b = Builder(0)
    graph = b.graph(b.conv(b.conv(b.input(8, 8, 8), 8), 8, (1, 1)))
    asked: list[Plan] = []

    def measure(of: XGraph, plan: Plan) -> int:
        assert of is graph
        asked.append(plan)
        return 1000 + len(asked)

    known, plain = Evaluator(NANO, graph, measure=measure), Evaluator(NANO, graph)
    for number, mask in enumerate((1, 2, 3), 1):
        planned = plain.cost_of(mask, CYCLES)
        assert planned is not None
        assert known.cost_of(mask, CYCLES) == Cost(1000 + number, planned.dram_bytes)
    assert known.cost_of(3, CYCLES) == Cost(1003, asked[2].cost.dram_bytes), "asked once"
    assert (len(asked), known.evaluated) == (3, 3)


def test_groups_that_fit_nowhere_are_not_measured() -> None:
    b = Builder(0)
    graph = b.graph(b.conv(b.conv(b.input(8, 400, 8), 8), 8))
    known = Evaluator(NANO, graph, measure=lambda of, plan: pytest.fail("there is no plan"))
    assert known.cost_of(3, CYCLES) is None


def test_the_cycle_model_is_asked_for_the_program_of_the_group() -> None:
    b = Builder(0)
    graph = b.graph(b.conv(b.conv(b.input(8, 8, 8), 8), 8, (1, 1)))
    known = Evaluator(NANO, graph, measure=on_cycle_model(NANO))
    found, plan = known.cost_of(3, CYCLES), known.plan(3, CYCLES)
    assert found is not None
    assert plan is not None
    assert found.cycles == program_cycles(NANO, graph, [plan])
