"""The integer programme against enumeration of all partitions, with random prices."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence

import pytest

from compiler.fusion.legal import Mask, OpSets
from compiler.search.certify import _alike, _circles, _everywhere, _holders, certify
from compiler.search.shape import Shapes
from compiler.xgraph.ops import EltwiseKind
from tests.compiler.graphs import Builder
from tests.compiler.search.partitions import all_groups, all_partitions, random_graph


def weighed(seed: int, most: int = 7) -> tuple[OpSets, dict[Mask, int]]:
    """Prices of all groups of one operation, and of most others."""
    sets = OpSets(random_graph(seed, most))
    rng = random.Random(seed)
    groups = all_groups(sets, sets.joins)
    return sets, {mask: rng.randint(10, 30) for mask in groups if mask.bit_count() == 1 or rng.random() < 0.8}


def least(sets: OpSets, prices: dict[Mask, int]) -> int:
    partitions = (p for p in all_partitions(sets, list(prices)) if sets.in_order(p) is not None)
    return min(sum(prices[group] for group in partition) for partition in partitions)


def test_the_cheapest_partition_and_its_proof() -> None:
    for seed in range(60):
        sets, prices = weighed(seed)
        found = certify(sets, prices)
        assert found.groups is not None
        assert found.exact
        assert sum(prices[group] for group in found.groups) == found.value == found.bound == least(sets, prices)
        assert sets.in_order(found.groups) is not None


def test_circles_are_forbidden_where_they_occur() -> None:
    """Pairs of groups that wait for each other, made so cheap that both would be chosen."""
    tried = 0
    for seed in range(200):
        sets, prices = weighed(seed)
        pairs = [
            (a, b) for a in prices for b in prices if a < b and not a & b and sets.before(a) & b and sets.before(b) & a
        ]  # fmt: skip
        if not pairs:
            continue
        tried += 1
        prices |= dict.fromkeys(pairs[0], 1)
        found = certify(sets, prices)
        assert found.groups is not None
        assert not set(pairs[0]) <= set(found.groups)
        assert found.value == least(sets, prices)
    assert tried > 3


def test_large_prices_are_told_apart_by_one() -> None:
    sets, prices = weighed(3)
    prices = {mask: 10**8 * price + random.Random(mask).randint(0, 3) for mask, price in prices.items()}
    found = certify(sets, prices)
    assert found.exact
    assert found.value == least(sets, prices)


def test_a_search_that_is_cut_short_still_has_a_bound() -> None:
    sets, prices = weighed(5)
    found = certify(sets, prices, nodes=0)
    assert found.bound <= least(sets, prices)
    assert found.groups is None or found.value >= least(sets, prices)


def test_three_groups_in_a_circle_of_which_no_two_wait_for_each_other() -> None:
    b = Builder(0)
    x = b.input(4, 4, 8)
    first = [b.conv(x, 8) for _ in range(3)]
    behind = [b.conv(first[(n + 1) % 3], 8) for n in range(3)]
    sets = OpSets(b.graph(b.eltwise(EltwiseKind.ADD, b.eltwise(EltwiseKind.ADD, behind[0], behind[1]), behind[2])))
    pairs = [1 << sets.index[a] | 1 << sets.index[c] for a, c in zip(first, behind, strict=True)]
    prices = dict.fromkeys((1 << n for n in range(len(sets.ops))), 10) | dict.fromkeys(pairs, 1)
    found = certify(sets, prices)
    assert sets.in_order(pairs + [1 << n for n in range(len(sets.ops)) if not sum(pairs) >> n & 1]) is None
    assert (found.value, found.exact) == (1 + 1 + 4 * 10, True)
    assert found.groups is not None
    assert sets.in_order(found.groups) is not None


@pytest.mark.parametrize("seed", [76, 79, 107, 112])
def test_a_row_forbids_nothing_that_can_run(seed: int) -> None:
    """Of all partitions into weighed groups those without a circle satisfy the row of every circle in the others."""
    sets, prices = weighed(seed)
    masks = list(prices)
    holders = _holders(sets, masks)
    partitions = [set(partition) for partition in all_partitions(sets, masks)]
    circles = [circle for partition in partitions for circle in _circles(sets, sorted(partition))]
    runnable = [partition for partition in partitions if sets.in_order(sorted(partition)) is not None]
    assert circles
    assert all(not [*_circles(sets, sorted(partition))] for partition in runnable)
    shapes = Shapes(sets)
    for circle in circles:
        places = [[mask for mask in masks if shapes.key(mask) == shapes.key(group)] for group in circle]
        for other in _everywhere(sets, places, circle):
            alike = {masks[number] for number in _alike(sets, masks, holders, other)}
            assert alike >= set(other)
            assert all(len(alike & partition) < len(other) for partition in runnable)


def test_pairs_are_forbidden_in_all_places_that_are_alike(monkeypatch: pytest.MonkeyPatch) -> None:
    """Three times two convolutions of either of two maps: the diagonal pairs wait for each other, and cost least."""
    b = Builder(0)
    x = b.input(4, 4, 8)
    pairs = []
    for _ in range(3):
        ends = [b.conv(x, 8), b.conv(x, 8)]
        behind = [b.conv(end, 8) for end in ends[::-1]]
        pairs.append([*zip(ends, behind, strict=True)])
        x = b.eltwise(EltwiseKind.ADD, behind[0], behind[1])
    sets = OpSets(b.graph(x))
    masks = [1 << sets.index[end] | 1 << sets.index[last] for both in pairs for end, last in both]
    prices = dict.fromkeys((1 << n for n in range(len(sets.ops))), 10) | dict.fromkeys(masks, 1)
    solutions: list[Sequence[Mask]] = []

    def circles(sets: OpSets, chosen: Sequence[Mask]) -> Iterator[list[Mask]]:
        solutions.append(chosen)
        return _circles(sets, chosen)

    monkeypatch.setattr("compiler.search.certify._circles", circles)
    found = certify(sets, prices)
    assert (found.value, found.exact, len(solutions)) == (3 * (1 + 2 * 10 + 10), True, 2)
