"""Groups that are joined with their neighbours."""

from __future__ import annotations

from dataclasses import replace
from itertools import combinations

import pytest

from compiler.planning.objective import DRAM, OBJECTIVES
from compiler.search import best as module
from compiler.search.best import best
from compiler.search.cost import Evaluator
from compiler.search.effort import EFFORTS
from compiler.search.merge import merged
from compiler.search.naive import naive
from compiler.search.partition import price_of
from isa.config import preset
from tests.compiler.graphs import pointwise_chain
from tests.compiler.search.partitions import evaluator

SEEDS = range(16)


@pytest.mark.parametrize("objective", OBJECTIVES)
@pytest.mark.parametrize("seed", SEEDS)
def test_no_two_groups_are_left_that_are_worth_joining(seed: int, objective: str) -> None:
    known, wanted = evaluator(seed), OBJECTIVES[objective]
    sets = known.sets
    alone = [1 << n for n in range(len(sets.ops))]
    found = merged(known, wanted, alone)
    assert sum(found) == sets.everything
    assert all(sets.legal(group) for group in found)
    assert sets.in_order(found) is not None
    assert sum(price_of(known, wanted, g) for g in found) <= sum(price_of(known, wanted, g) for g in alone)
    for one, other in combinations(found, 2):
        rest = [group for group in found if group not in (one, other)]
        cost = known.cost_of(one | other, wanted) if sets.legal(one | other) else None
        if cost is not None and sets.in_order([*rest, one | other]) is not None:
            assert wanted(cost) >= price_of(known, wanted, one) + price_of(known, wanted, other)


def test_what_saves_most_is_joined_first_up_to_any_number_of_operations() -> None:
    known = Evaluator(preset("nano"), pointwise_chain(20))
    assert merged(known, DRAM, [1 << n for n in range(20)]) == [known.sets.everything]


def test_only_full_effort_joins_groups_and_only_where_some_were_not_weighed(monkeypatch: pytest.MonkeyPatch) -> None:
    graph = pointwise_chain(16)
    monkeypatch.setattr(module, "least_of_all", lambda *asked: None)
    monkeypatch.setattr(module, "QUICK", (naive,))
    normal = best(graph, Evaluator(preset("nano"), graph), DRAM)
    full = best(graph, Evaluator(preset("nano"), graph, effort=EFFORTS["full"]), DRAM)
    assert len(normal.groups) > 1
    assert len(full.groups) == 1
    assert full.bound <= full.value < normal.value
    monkeypatch.setattr(module, "merged", lambda *asked: pytest.fail("all groups were weighed"))
    effort = replace(EFFORTS["full"], most_ops=16)
    assert best(graph, Evaluator(preset("nano"), graph, effort=effort), DRAM).value == full.value
