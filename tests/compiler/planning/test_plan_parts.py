"""The parts of the planner by themselves: what is proposed fits, no cost is below its bound, the cheapest is taken."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from compiler.fusion.legal import OpSets
from compiler.layers.fit import FitError
from compiler.planning.bounds import Bounds
from compiler.planning.candidates import Candidates, suits
from compiler.planning.cut import cut_of
from compiler.planning.grouping import make_group
from compiler.planning.objective import CYCLES, DRAM, Objective
from compiler.planning.operations import Group
from compiler.planning.parts import passes, whole
from compiler.planning.pass_costs import Costs
from compiler.planning.plan_group import plan_group
from compiler.planning.residence import Residence
from compiler.planning.selection import Selection
from compiler.planning.stepping import Stepping
from compiler.planning.walk import Way
from compiler.schedule.document import GroupSchedule
from isa.config import MachineConfig, config_from_dict, preset
from tests.compiler.graphs import Builder
from tests.compiler.search.partitions import all_groups, random_graph

NANO = preset("nano")
SMALL = config_from_dict({"base": "nano", "name": "small", "fm_depth": 64, "weight_depth": 24}, origin="test")


def groups(config: MachineConfig, seed: int) -> Iterator[Group]:
    graph = random_graph(seed)
    sets = OpSets(graph)
    for mask in all_groups(sets, sets.joins):
        yield make_group(config, graph, sets.members(mask))


def proposed(candidates: Candidates, stepping: Stepping, group: Group) -> Iterator[tuple[Way, Residence]]:
    """All of one pass over all channels, with nothing held."""
    for steps in stepping.counts:
        for shared in (False, True):
            for pipelined in candidates.orders(steps, shared):
                way = candidates.way(group, steps, pipelined, (), shared)
                if way is not None:
                    yield from ((way, each) for each in candidates.residences(group, steps, ()) if suits(way, each))


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("config", [NANO, SMALL], ids=lambda config: config.name)
def test_no_pass_costs_less_than_its_bound_and_its_bytes_are_exact(config: MachineConfig, seed: int) -> None:
    for group in groups(config, seed):
        stepping = Stepping(group)
        bounds, candidates = Bounds(config, stepping), Candidates(config, stepping, partly=True)
        costs = Costs(config, bounds, stepping.batch)
        loads = stepping.loads(True, ())
        for way, residence in proposed(candidates, stepping, group):
            cost = costs.of_pass(group, way, residence, loads, ())
            least = bounds.of_pass(group, way.ranges.steps, residence, loads, ())
            assert cost is not None
            assert cost.cycles >= max(least.cycles, bounds.beats(group))
            assert cost.dram_bytes == least.dram_bytes
            assert costs.of_pass(group, way, residence, loads, (), most=cost.cycles) == cost
            assert costs.of_pass(group, way, residence, loads, (), most=least.cycles - 1) is None


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("objective", [CYCLES, DRAM], ids=lambda objective: objective.name)
def test_the_selection_is_the_cheapest_of_all_that_are_proposed(objective: Objective, seed: int) -> None:
    """For cycles nearly: plans are skipped beside equally promising ones; maps share words only where they do not fit apart."""
    for group in groups(SMALL, seed):
        selection = Selection(SMALL, group, objective, upwards=True)
        candidates, costs, loads = selection.candidates, selection.costs, selection.stepping.loads(True, ())
        found = [costs.of_pass(group, way, residence, loads, ())
                 for way, residence in proposed(candidates, selection.stepping, group)]  # fmt: skip
        plan = selection.plan(whole(group), ())
        assert (plan is not None) == bool(found) == candidates.any_fits(group)
        if plan is not None:
            least = min(objective(cost) for cost in found if cost is not None)
            assert least <= objective(plan.cost) <= least * (1.1 if objective is CYCLES else 1)


def test_plans_in_passes_cost_no_less_than_the_bound_of_their_number() -> None:
    b = Builder(3)
    graph = b.graph(b.conv(b.conv(b.input(12, 10, 24), 48, (1, 1)), 48, groups=48))
    few = config_from_dict({"base": "nano", "name": "few", "weight_depth": 24}, origin="test")
    group = make_group(few, graph, graph.ops)
    cut = cut_of(few, group)
    assert cut is not None
    selection = Selection(few, group, CYCLES, upwards=True)
    bounds = selection.bounds.of_cut(cut)
    told = [(bound, count, held, selection.plan(passes(cut, count), held)) for bound, count, held in bounds]
    assert {bool(held) for _, _, held, plan in told if plan} == {False, True}
    for bound, _, _, plan in told:
        assert plan is None or (bound.cycles <= plan.cost.cycles and bound.dram_bytes <= plan.cost.dram_bytes)


def test_orders_are_those_that_are_wanted_and_possible() -> None:
    b = Builder(0)
    graph = b.graph(b.conv(b.input(8, 8, 8), 8))
    group = make_group(NANO, graph, graph.ops)
    stepping = Stepping(group)
    free = Candidates(NANO, stepping)
    assert [free.orders(*each) for each in ((1, False), (4, False), (4, True))] == [[False], [True, False], [False]]
    as_wanted = Candidates(NANO, stepping, wanted=GroupSchedule((), pipelined=True))
    assert [as_wanted.orders(*each) for each in ((1, False), (4, False), (4, True))] == [[], [True], []]


def test_steps_are_those_that_change_rows_or_the_one_that_is_wanted() -> None:
    b = Builder(0)
    graph = b.graph(b.conv(b.input(9, 6, 8, 2), 8))
    group = make_group(NANO, graph, graph.ops)
    free, three = Stepping(group), Stepping(group, 3)
    assert (free.counts, three.counts) == ([1, 2, 3, 5, 9], [3])
    assert (free.rounds(3, ()), free.rounds(3, ("x0",))) == (6, 3)
    assert (free.loads(True, ("x0",)), free.loads(False, ("x0",)), free.loads(False, ())) == (["x0"], [], ["x0"])
    for steps in free.counts:
        assert free.ranges(steps).steps == steps
        assert free.ranges(steps).ends["conv0_out"][-1] == 9


def test_where_nothing_is_proposed_there_is_no_plan() -> None:
    b = Builder(3)
    graph = b.graph(b.conv(b.input(4, 4, 3200), 8))
    group = make_group(NANO, graph, graph.ops)
    assert not Candidates(NANO, Stepping(group)).any_fits(group)
    assert Selection(NANO, group, CYCLES, upwards=True).plan(whole(group), ()) is None
    with pytest.raises(FitError, match="no tiling fits"):
        plan_group(NANO, group)
