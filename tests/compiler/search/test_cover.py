"""The dynamic program against enumeration of all partitions, with random prices."""

from __future__ import annotations

import random

import pytest

from compiler.fusion.grow import grow
from compiler.fusion.legal import Mask, OpSets
from compiler.planning.objective import Objective
from compiler.search.cost import Evaluator
from compiler.search.cover import cheapest
from compiler.search.floors import Floors
from isa.config import preset
from tests.compiler.graphs import Builder
from tests.compiler.search.partitions import all_groups, all_partitions, random_graph

NO_FLOOR = Objective("nothing", 0, 0)


def least(sets: OpSets, prices: dict[Mask, int]) -> int:
    values = [
        sum(prices[group] for group in partition)
        for partition in all_partitions(sets, list(prices)) if sets.in_order(partition) is not None
    ]  # fmt: skip
    return min(values)


def floors_of(sets: OpSets) -> Floors:
    return Evaluator(preset("nano"), sets.graph).floors


def test_the_cheapest_partition_of_random_prices_is_found() -> None:
    for seed in range(60):
        sets = OpSets(random_graph(seed))
        rng = random.Random(seed)
        groups = all_groups(sets, sets.joins)
        prices = {mask: rng.randint(10, 30) for mask in groups if mask.bit_count() == 1 or rng.random() < 0.8}
        cover = cheapest(sets, prices, floors_of(sets), NO_FLOOR, most_states=10**6, guide=[1.0] * len(sets.ops))
        assert cover.groups is not None
        assert cover.dropped is None
        assert sum(prices[group] for group in cover.groups) == cover.value == least(sets, prices)
        assert sets.in_order(cover.groups) is not None


def test_growing_finds_every_legal_group() -> None:
    for seed in range(30):
        sets = OpSets(random_graph(seed))
        for joins in (sets.joins, sets.feeds):
            grown = grow(sets, joins, 10, 10**6, lambda mask: 0)
            assert grown.complete
            assert sorted(grown.groups) == all_groups(sets, joins)


def test_groups_that_would_wait_for_each_other_are_not_chosen_together() -> None:
    refused = 0
    for seed in range(200):
        sets = OpSets(random_graph(seed))
        groups = all_groups(sets, sets.joins)
        pairs = [
            (a, b) for a in groups for b in groups
            if a < b and not a & b and sets.in_order([a, b, *(1 << n for n in range(len(sets.ops)) if not (a | b) >> n & 1)])
            is None
        ]  # fmt: skip
        for a, b in pairs[:3]:
            refused += 1
            prices = {1 << n: 100 for n in range(len(sets.ops))} | {a: 1, b: 1}
            cover = cheapest(sets, prices, floors_of(sets), NO_FLOOR, most_states=1000, guide=[1.0] * len(sets.ops))
            assert cover.groups is not None
            assert not {a, b} <= set(cover.groups)
            assert sets.in_order(cover.groups) is not None
        if refused > 10:
            return
    pytest.fail("no graph has such groups")


def test_with_a_limit_only_cheaper_partitions_count() -> None:
    sets = OpSets(random_graph(1))
    prices = {1 << n: 10 for n in range(len(sets.ops))}
    value = 10 * len(sets.ops)
    for limit, found in ((value, False), (value + 1, True)):
        guide = [1.0] * len(sets.ops)
        cover = cheapest(sets, prices, floors_of(sets), NO_FLOOR, most_states=10, guide=guide, limit=limit)
        assert (cover.groups is not None) == found


def test_paths_given_up_are_reported_with_what_they_would_cost_at_least() -> None:
    sets = OpSets(random_graph(3))
    rng = random.Random(3)
    prices = {mask: rng.randint(10, 30) for mask in all_groups(sets, sets.joins)}
    cover = cheapest(sets, prices, floors_of(sets), NO_FLOOR, most_states=1, guide=[15.0] * len(sets.ops))
    assert cover.dropped is not None
    assert cover.dropped <= least(sets, prices) <= cover.value


@pytest.mark.parametrize(("together", "value"), [(15, 25), (19, 29), (25, 30)])
def test_what_is_covered_ahead_counts_for_the_path_that_is_kept(together: int, value: int) -> None:
    """Three side by side, of 10 each; the first with the last. Only one path is kept: after the first, or after both."""
    b = Builder(0)
    x = b.input(6, 6, 8)
    sets = OpSets(b.graph(b.conv(x, 8), b.conv(x, 8), b.conv(x, 8)))
    prices = {0b001: 10, 0b010: 10, 0b100: 10, 0b101: together}
    cover = cheapest(sets, prices, floors_of(sets), NO_FLOOR, most_states=1, guide=[10.0] * 3)
    assert cover.value == value
    assert cover.groups == ([0b101, 0b010] if together < 20 else [0b001, 0b010, 0b100])
    assert cover.dropped is not None
