"""The cheapest of all partitions beside enumeration, and bounds beside plans."""

from __future__ import annotations

import random

import numpy as np
import pytest

from compiler.fusion.legal import Mask
from compiler.planning.objective import OBJECTIVES, Objective
from compiler.search import exhaust
from compiler.search.cost import Evaluator
from compiler.search.exhaust import all_legal, cheapest_of_all
from compiler.search.least import Least
from compiler.search.reloads import Reloads
from tests.compiler.graphs import Builder
from tests.compiler.search.partitions import all_groups, all_partitions, evaluator, small

SEEDS = range(16)


@pytest.mark.parametrize("objective", OBJECTIVES)
@pytest.mark.parametrize("seed", SEEDS)
def test_no_group_costs_less_than_its_least_and_none_that_fits_is_said_not_to(seed: int, objective: str) -> None:
    known = evaluator(seed)
    least = Least(known)
    for mask in all_groups(known.sets, known.sets.joins):
        cost = known.cost_of(mask, OBJECTIVES[objective])
        if cost is not None:
            assert least.may_fit(mask)
            assert least.of(mask, OBJECTIVES[objective]) <= OBJECTIVES[objective](cost)


def test_some_groups_are_told_not_to_fit_without_planning_them() -> None:
    """A wide result over many rows: by itself it is made in passes over its channels, behind another layer it cannot be."""
    for channels, fits in ((8, True), (32, False)):
        b = Builder(0)
        graph = b.graph(b.conv(b.conv(b.input(8, 8, 4), 12), channels))
        known = Evaluator(small(), graph)
        both = known.sets.everything
        assert Least(known).may_fit(both) == fits
        assert fits or known.cost_of(both, OBJECTIVES["dram"]) is None


@pytest.mark.parametrize("seed", SEEDS)
def test_all_groups_that_fit_are_listed(seed: int) -> None:
    known = evaluator(seed)
    sets = known.sets
    listed = all_legal(sets, sets.joins, Least(known).may_fit)
    assert listed is not None
    every = all_groups(sets, sets.joins)
    assert set(listed) <= set(every)
    assert {mask for mask in every if known.cost_of(mask, OBJECTIVES["dram"]) is not None} <= set(listed)
    assert all_legal(sets, sets.joins, lambda mask: True, most=len(every)) == sorted(every, key=lambda m: (m.bit_count(), m))
    assert all_legal(sets, sets.joins, lambda mask: True, most=len(every) - 1) is None


@pytest.mark.parametrize("objective", OBJECTIVES)
@pytest.mark.parametrize("seed", SEEDS)
def test_no_partition_at_all_is_cheaper(seed: int, objective: str) -> None:
    """Beside the enumeration of all of them; from no more than single operations."""
    known, wanted = evaluator(seed), OBJECTIVES[objective]
    sets = known.sets
    prices = {}
    for mask in all_groups(sets, sets.joins):
        cost = known.cost_of(mask, wanted)
        if cost is not None:
            prices[mask] = wanted(cost)
    runnable = (p for p in all_partitions(sets, list(prices)) if sets.in_order(p) is not None)
    listed = all_legal(sets, sets.joins, Least(known).may_fit)
    assert listed is not None
    found = cheapest_of_all(known, wanted, listed, [1 << n for n in range(len(sets.ops))])
    assert found.exact
    assert found.value == min(sum(prices[group] for group in partition) for partition in runnable)


@pytest.mark.parametrize("objective", OBJECTIVES)
@pytest.mark.parametrize("seed", SEEDS)
def test_a_proof_that_is_given_up_leaves_a_bound(seed: int, objective: str) -> None:
    """Which the cheapest of all partitions keeps to."""
    known, wanted = evaluator(seed), OBJECTIVES[objective]
    sets = known.sets
    alone = [1 << n for n in range(len(sets.ops))]
    listed = all_legal(sets, sets.joins, Least(known).may_fit)
    assert listed is not None
    least = cheapest_of_all(known, wanted, listed, alone)
    for most in (len(alone), len(alone) + 5):
        found = cheapest_of_all(known, wanted, listed, alone, most)
        assert 0 < found.bound <= least.value <= found.value


@pytest.mark.parametrize("seed", range(60))
def test_prices_of_any_kind_are_asked_for_as_far_as_they_matter(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Groups at random prices, of which a few are asked for at a time; what holds some of them does not fit, but in tiles."""
    known, rng = evaluator(seed % 16), random.Random(seed)
    sets = known.sets
    alone = [1 << n for n in range(len(sets.ops))]
    every = all_groups(sets, sets.joins)
    large = [mask for mask in every if mask.bit_count() > 2]
    barred = rng.sample(large, k=min(2, len(large))) if seed % 2 else []
    narrow = rng.getrandbits(len(sets.ops))
    monkeypatch.setitem(known.__dict__, "narrow", narrow)
    prices = {
        mask: rng.randint(50, 100) * (mask.bit_count() + 1) for mask in every
        if not any(mask & other == other and not (mask & ~other & narrow) for other in barred)
    }  # fmt: skip
    floors = {mask: prices.get(mask, 0) * rng.choice([0.5, 0.9, 1.0]) for mask in every}
    asked = []

    def price(of: Evaluator, objective: Objective, mask: Mask) -> int | None:
        asked.append(mask)
        return prices.get(mask)

    monkeypatch.setattr(exhaust, "price_or_none", price)
    monkeypatch.setattr(exhaust, "AT_ONCE", 2)
    monkeypatch.setattr(Least, "of", lambda least, mask, objective, again=0: int(floors[mask]))
    monkeypatch.setattr(Reloads, "of", lambda reloads, members: np.zeros(len(members)))
    found = cheapest_of_all(known, OBJECTIVES["dram"], every, alone)
    runnable = [p for p in all_partitions(sets, list(prices)) if sets.in_order(p) is not None]
    assert found.exact
    assert found.value == min(sum(prices[group] for group in partition) for partition in runnable)
    assert len(asked) == len({*asked})
    bounded = cheapest_of_all(known, OBJECTIVES["dram"], every, alone, len(alone) + 1)
    assert bounded.bound <= found.value
