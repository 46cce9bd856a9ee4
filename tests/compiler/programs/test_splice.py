"""Paths put together of stretches of others, beside a plain search over all of them."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from itertools import pairwise

import pytest

from compiler.fusion.legal import Mask
from compiler.programs.splice import splice


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


def behind(seed: int, first: Mask, second: Mask) -> int:
    """What a group takes behind another."""
    return random.Random(f"{seed} {first} {second}").randrange(80, 130) * second.bit_count()


@pytest.mark.parametrize("seed", range(60))
def test_the_shortest_of_all_mixtures(seed: int) -> None:
    rng = random.Random(seed)
    count = rng.randrange(2, 9)
    paths = [random_path(rng, count) for _ in range(rng.randrange(1, 5))]

    def total(path: Sequence[Mask]) -> int:
        return sum(behind(seed, *pair) for pair in pairwise((0, *path)))

    found = splice(paths, lambda first, second: behind(seed, first, second))
    assert total(found) == min(map(total, all_ways(paths, (1 << count) - 1)))


def test_only_pairs_of_the_road_are_asked() -> None:
    asked: list[tuple[Mask, Mask]] = []

    def ask(first: Mask, second: Mask) -> int:
        asked.append((first, second))
        return 1

    assert splice([(1, 2, 4, 8), (1, 6, 8)], ask) == (1, 6, 8)
    assert sorted(asked) == [(0, 1), (1, 2), (1, 6), (2, 4), (4, 8), (6, 8)], "each once"
