"""Algorithm 2 beside the enumeration of all choices."""

from __future__ import annotations

import random
from itertools import combinations

from compiler.papers.optimus.isoa import in_advance

Sizes = dict[str, int]


def taken(maps: list[str], chosen: frozenset[str], whole: Sizes, part: Sizes) -> int:
    return sum(part[name] if name in chosen else whole[name] for name in maps)


def least(maps: list[str], readers: dict[str, list[str]], whole: Sizes, part: Sizes) -> int:
    choices = (frozenset(names) for count in range(len(maps) + 1) for names in combinations(maps, count))
    legal = (names for names in choices if not any(reader in names for name in names for reader in readers[name]))
    return min(taken(maps, names, whole, part) for names in legal)


def drawn(seed: int, branches: bool) -> tuple[list[str], dict[str, list[str]], Sizes, Sizes]:
    rng = random.Random(seed)
    maps = [f"m{n}" for n in range(rng.randint(1, 8))]
    readers: dict[str, list[str]] = {name: [] for name in maps}
    for number, name in enumerate(maps[1:], 1):
        for other in rng.sample(maps[:number], min(number, rng.randint(1, 2))) if branches else [maps[number - 1]]:
            readers[other].append(name)
    whole = {name: rng.randint(1, 99) for name in maps}
    return maps, readers, whole, {name: rng.randint(1, size) for name, size in whole.items()}


def test_on_chains_nothing_takes_less() -> None:
    for seed in range(50):
        maps, readers, whole, part = drawn(seed, branches=False)
        assert taken(maps, in_advance(maps, readers, whole, part), whole, part) == least(maps, readers, whole, part)


def test_of_successive_maps_one_keeps_all_channels() -> None:
    for seed in range(50):
        maps, readers, whole, part = drawn(seed, branches=True)
        chosen = in_advance(maps, readers, whole, part)
        assert not any(reader in chosen for name in chosen for reader in readers[name])
        assert least(maps, readers, whole, part) <= taken(maps, chosen, whole, part) <= sum(whole.values())
