"""Paths put together of stretches of others, beside a plain search over all of them."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from itertools import pairwise

import pytest

from compiler.fusion.legal import Mask
from compiler.search.splice import splice


def random_path(rng: random.Random, count: int) -> tuple[Mask, ...]:
    """Operations in a row, cut into groups."""
    cuts = sorted({0, count, *rng.sample(range(1, count), rng.randrange(count))})
    return tuple(sum(1 << n for n in range(first, past)) for first, past in pairwise(cuts))


def all_ways(paths: Sequence[Sequence[Mask]], everything: Mask, done: Mask = 0) -> Iterator[tuple[Mask, ...]]:
    if done == everything:
        yield ()
    onward = {path[n] for path in paths for n in range(len(path)) if sum(path[:n]) == done}
    for group in onward:
        for rest in all_ways(paths, everything, done | group):
            yield (group, *rest)


class Pairs:
    """What a group takes behind another, and how often that was asked."""

    def __init__(self, seed: int) -> None:
        self.seed = seed
        self.asked: list[tuple[Mask, Mask]] = []

    def cost(self, first: Mask, second: Mask) -> int:
        return random.Random(f"{self.seed} {first} {second}").randrange(80, 130) * second.bit_count()

    def behind(self, stretch: Sequence[Mask]) -> list[int]:
        self.asked += pairwise(stretch)
        return [self.cost(*pair) for pair in pairwise(stretch)]

    def total(self, path: Sequence[Mask]) -> int:
        return sum(self.cost(first, second) for first, second in pairwise((0, *path)))


@pytest.mark.parametrize("seed", range(200))
def test_the_shortest_of_all_mixtures(seed: int) -> None:
    rng = random.Random(seed)
    count = rng.randrange(2, 9)
    paths = [random_path(rng, count) for _ in range(rng.randrange(1, 5))]
    pairs = Pairs(seed)
    found = splice(paths, pairs.behind, lambda first, second: 80 * second.bit_count())
    assert pairs.total(found) == min(map(pairs.total, all_ways(paths, (1 << count) - 1)))
    assert len(pairs.asked) == len(set(pairs.asked)), "no pair is asked about twice"


def test_what_all_paths_share_is_not_asked() -> None:
    pairs = Pairs(0)
    splice([(1, 2, 4, 8, 16), (1, 2, 12, 16)], pairs.behind, lambda first, second: 0)
    assert set(pairs.asked) == {(2, 4), (4, 8), (8, 16), (2, 12), (12, 16)}


def test_what_cannot_be_better_is_not_asked() -> None:
    """The second way is hoped to take more than the first was found to."""
    pairs = Pairs(0)
    assert splice([(1, 2), (3,)], pairs.behind, lambda first, second: 1000 if second == 3 else 0) == (1, 2)
    assert pairs.asked == [(0, 1), (1, 2)]


def test_what_lies_in_a_row_is_asked_about_at_once() -> None:
    rows: list[Sequence[Mask]] = []

    def behind(stretch: Sequence[Mask]) -> list[int]:
        rows.append(stretch)
        return [1] * (len(stretch) - 1)

    assert splice([(1, 2, 4, 8, 16, 32, 64), (1, 6, 8, 16, 96)], behind, lambda first, second: 1) == (1, 6, 8, 16, 96)
    assert rows == [(1, 6, 8), (16, 96)], "a part that all share lies between two rows"


def test_one_path_is_its_own_best() -> None:
    pairs = Pairs(0)
    assert splice([(1, 6)], pairs.behind, lambda first, second: 0) == (1, 6)
    assert pairs.asked == []
