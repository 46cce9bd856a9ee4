"""Groups grown operation by operation beside enumeration, and which ones are asked about where there are too many."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence

import pytest

from compiler.fusion.grow import extensions, grow
from compiler.fusion.legal import Mask, OpSets
from tests.compiler.fusion.mixed_graphs import mixed_graph
from tests.compiler.graphs import pointwise_chain

SEEDS = range(10)
MANY = 10**6


def sets_of(seed: int) -> OpSets:
    return OpSets(*mixed_graph(seed, 7))


def legal_groups(sets: OpSets) -> list[Mask]:
    return [mask for mask in range(1, 1 << len(sets.ops)) if sets.legal(mask)]


@pytest.mark.parametrize("seed", SEEDS)
def test_every_legal_group_is_grown_up_to_a_size(seed: int) -> None:
    sets = sets_of(seed)
    legal = legal_groups(sets)
    for most in range(1, len(sets.ops) + 1):
        grown = grow(sets, sets.joins, most, MANY, lambda mask: 0)
        assert sorted(grown.groups) == [mask for mask in legal if mask.bit_count() <= most]
        assert (grown.left_out, grown.longer) == (0, sum(mask.bit_count() == most + 1 for mask in legal))
        assert grown.complete
        assert grown.all == (grown.longer == 0)


@pytest.mark.parametrize("seed", SEEDS)
def test_a_group_that_cannot_be_executed_is_not_extended(seed: int) -> None:
    """Where one operation can never be executed with others, the groups are those without it, and itself."""
    sets = sets_of(seed)
    alone = 1 << len(sets.ops) // 2
    asked: list[Mask] = []

    def worth(mask: Mask) -> int | None:
        asked.append(mask)
        return None if mask & alone and mask != alone else 0

    grown = grow(sets, sets.joins, len(sets.ops), MANY, worth)
    legal = legal_groups(sets)
    assert sorted(grown.groups) == [mask for mask in legal if not mask & alone or mask == alone]
    assert len(asked) == len(set(asked))
    assert {*asked} <= {*legal}


@pytest.mark.parametrize("seed", SEEDS)
def test_extensions_are_the_legal_groups_with_one_operation_more(seed: int) -> None:
    sets = sets_of(seed)
    for mask in legal_groups(sets):
        larger = [mask | 1 << n for n in range(len(sets.ops)) if not mask >> n & 1]
        assert sorted(extensions(sets, sets.joins, mask)) == sorted(group for group in larger if sets.legal(group))


def in_turn(hopes: Mapping[Mask, int], most: int) -> list[Mask]:
    """Of each first operation the best; then of each the second best; and so on."""
    lists: dict[Mask, list[Mask]] = {}
    for mask in sorted(hopes, key=lambda mask: (-hopes[mask], mask)):
        lists.setdefault(mask & -mask, []).append(mask)
    taken: list[Mask] = []
    while any(lists.values()):
        heads = [ranked.pop(0) for ranked in lists.values() if ranked]
        taken += sorted(heads, key=lambda mask: (-hopes[mask], mask))
    return taken[:most]


@pytest.mark.parametrize("most", [1, 2, 3, 5])
@pytest.mark.parametrize("seed", SEEDS)
def test_where_there_are_too_many_the_most_hopeful_of_each_first_operation_are_asked_about(seed: int, most: int) -> None:
    sets = sets_of(seed)
    rng = random.Random(seed)
    worth: dict[Mask, int | None] = {mask: rng.choice([None, 1, 2, 3, 4]) for mask in legal_groups(sets)}
    told: list[Sequence[Mask]] = []
    grown = grow(sets, sets.joins, len(sets.ops), most, worth.__getitem__, told.append)
    level = [1 << n for n in range(len(sets.ops))]
    found: list[Mask] = []
    left_out = 0
    for asked in told:
        assert set(asked) == set(level)
        good = {mask: value for mask in asked if (value := worth[mask]) is not None}
        found += good
        hopes: dict[Mask, int] = {}
        for mask, value in good.items():
            for larger in extensions(sets, sets.joins, mask):
                hopes[larger] = max(hopes.get(larger, value), value)
        level = in_turn(hopes, most)
        left_out += len(hopes) - len(level)
    assert not level
    assert sorted(grown.groups) == sorted(found)
    assert grown.left_out == left_out
    assert grown.complete == (left_out == 0)


def test_the_groups_of_a_chain_are_its_stretches() -> None:
    sets = OpSets(pointwise_chain(5))
    grown = grow(sets, sets.joins, 3, 3, lambda mask: mask.bit_length())
    assert [mask for mask in grown.groups if mask.bit_count() == 1] == [1, 2, 4, 8, 16]
    # Of four pairs three are asked about, those with the last operations; of what extends those, all.
    assert [mask for mask in grown.groups if mask.bit_count() == 2] == [0b11000, 0b1100, 0b110]
    assert {mask for mask in grown.groups if mask.bit_count() == 3} == {0b11100, 0b1110, 0b111}
    # A fourth pair is left out, and two groups of four are not asked for.
    assert (grown.left_out, grown.longer, grown.complete, grown.all) == (1, 2, False, False)


def test_all_are_grown_only_if_none_is_longer_and_none_left_out() -> None:
    sets = OpSets(pointwise_chain(3))
    assert grow(sets, sets.joins, 3, MANY, lambda mask: 0).all
    assert not grow(sets, sets.joins, 2, MANY, lambda mask: 0).all
    assert grow(sets, sets.joins, 2, MANY, lambda mask: 0).complete
    assert not grow(sets, sets.joins, 3, 1, lambda mask: 0).all
