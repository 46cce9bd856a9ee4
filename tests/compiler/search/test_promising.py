"""Groups that promise something beside all that there are: the same best partition, out of fewer plans."""

from __future__ import annotations

import pytest

from compiler.fusion.grow import grow
from compiler.fusion.legal import Mask
from compiler.planning.objective import CYCLES, LEAN, OBJECTIVES
from compiler.search import promising as module
from compiler.search.best import best_of_weighed
from compiler.search.certify import certify
from compiler.search.cost import Evaluator
from compiler.search.partition import price_or_none
from compiler.search.pricing import priced
from compiler.search.promising import promising
from compiler.tuned import MOST_PROMISING_OPS
from isa.config import preset
from tests.compiler.graphs import Builder, pointwise_chain
from tests.compiler.search.partitions import all_groups, all_partitions, random_graph, small

NANO = preset("nano")
SEEDS = range(12)


def every(known: Evaluator, objective: str) -> set[Mask]:
    """All that fit, of up to as many operations as are looked at."""
    masks = [mask for mask in all_groups(known.sets, known.sets.joins) if mask.bit_count() <= MOST_PROMISING_OPS]
    return {mask for mask in masks if price_or_none(known, OBJECTIVES[objective], mask) is not None}


@pytest.mark.parametrize("objective", OBJECTIVES)
@pytest.mark.parametrize("seed", SEEDS)
def test_of_a_small_graph_all_groups_are_planned(seed: int, objective: str) -> None:
    """On a machine where many do not fit; none of what holds those is missing that fits all the same."""
    graph = random_graph(seed)
    grown = promising(Evaluator(small(), graph), OBJECTIVES[objective], 1000)
    assert grown.all
    assert set(grown.groups) == every(Evaluator(small(), graph), objective)


@pytest.mark.parametrize("seed", SEEDS)
def test_what_promises_nothing_is_not_planned_and_not_missed(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "ANYWAY", 0)
    known, graph = Evaluator(NANO, random_graph(seed)), random_graph(seed)
    fewer = promising(known, CYCLES, 1000).groups
    more = Evaluator(NANO, graph)
    assert set(fewer) <= every(more, "cycles")
    value, least = (certify(of.sets, priced(of, CYCLES, [*groups])).value
                    for of, groups in ((known, fewer), (more, every(more, "cycles"))))  # fmt: skip
    assert least <= value <= 1.01 * least


def test_a_chain_takes_a_part_of_the_plans(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "ANYWAY", 0)
    monkeypatch.setattr(module, "SLACK", 0.0)
    b = Builder(0)
    x = b.input(12, 12, 8)
    for number in range(24):
        x = b.conv(x, 8 + 8 * (number % 3), (1, 1) if number % 2 else (3, 3))
    graph = b.graph(x)
    few, more = Evaluator(NANO, graph), Evaluator(NANO, graph)
    promised = promising(few, CYCLES, 1000).groups
    grown = grow(more.sets, more.sets.joins, 10, 1000, lambda mask: price_or_none(more, CYCLES, mask)).groups
    assert few.evaluated < 0.7 * more.evaluated
    assert certify(few.sets, priced(few, CYCLES, promised)).value == certify(more.sets, priced(more, CYCLES, grown)).value


def test_no_more_shapes_are_planned_than_asked_for_and_the_rest_is_counted() -> None:
    graph = pointwise_chain(40, 8, 8, 8)
    known = Evaluator(NANO, graph)
    grown = promising(known, CYCLES, 3)
    shapes = {known.shapes.key(mask) for mask in grown.groups}
    alone = {known.shapes.key(1 << n) for n in range(40)}
    assert len(shapes - alone) <= 3
    assert grown.left_out > 0
    assert not grown.complete
    # All groups of a shape that was planned are there.
    assert len(grown.groups) > 40 + 3 * 20


def test_where_shapes_have_many_places_groups_are_in_proportion_to_operations_and_spread_over_all(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(module, "PLACES", 2)
    graph = pointwise_chain(40, 8, 8, 8)
    found = promising(Evaluator(NANO, graph), CYCLES, 30)
    longer = [mask for mask in found.groups if mask.bit_count() > 1]
    assert len(longer) == 2 * 40
    assert found.left_out > 0
    assert {(mask & -mask).bit_length() - 1 for mask in longer} == {*range(39)}


def test_what_earlier_compilations_know_changes_nothing() -> None:
    graph = random_graph(3, most=9)
    cold = Evaluator(NANO, graph)
    found = promising(cold, CYCLES, 5)
    warm = Evaluator(NANO, graph, known=dict(cold.known))
    for mask in all_groups(warm.sets, warm.sets.joins):
        warm.known[CYCLES, warm.shapes.key(mask)] = Evaluator(NANO, graph).cost_of(mask, CYCLES)
    assert promising(warm, CYCLES, 5) == found


@pytest.mark.parametrize("charge", [-300, -1, 0, 1, 300])
@pytest.mark.parametrize("seed", range(6))
def test_what_each_group_costs_more_or_less_chooses_among_partitions(seed: int, charge: int) -> None:
    """Beside the enumeration of all of them."""
    known = Evaluator(NANO, random_graph(seed))
    sets = known.sets
    costs = {mask: price_or_none(known, CYCLES, mask) for mask in all_groups(sets, sets.joins)}
    fits = {mask: max(0, price + charge) for mask, price in costs.items() if price is not None}
    runnable = (p for p in all_partitions(sets, list(fits)) if sets.in_order(p) is not None)
    found = best_of_weighed(known, CYCLES, charge)
    assert found is not None
    assert sum(fits[group] for group in found) == min(sum(fits[group] for group in p) for p in runnable)


def test_another_objective_weighs_the_plans_that_there_are() -> None:
    known = Evaluator(NANO, random_graph(2))
    every = all_groups(known.sets, known.sets.joins)
    cycles = {mask: known.cost_of(mask, CYCLES) for mask in every}
    planned = known.evaluated
    other = known.planning_for(CYCLES)
    assert {mask: other.cost_of(mask, LEAN) for mask in every} == cycles
    assert other.sets is known.sets
    assert other.evaluated == planned
    assert known.planned_for is None
