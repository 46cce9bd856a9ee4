"""Arenas against all orders of placing, and on instances that fill their ceiling to the last byte."""

from __future__ import annotations

import contextlib
import csv
import itertools
import random
import time
from pathlib import Path

import pytest

from compiler.memory.arena import arrange, first_fit, pack
from compiler.memory.blocks import Block, independent_parts, sections
from compiler.memory.exact_places import OutOfEffortError, Packing, orders
from tests.compiler.memory.instances import churn, cut_rectangle, random_blocks
from tests.tools import shared


def overlapping(blocks: list[Block], offsets: tuple[int, ...]) -> list[tuple[int, int]]:
    return [
        (a, b)
        for a, b in itertools.combinations(range(len(blocks)), 2)
        if blocks[a].meets(blocks[b])
        and offsets[a] < offsets[b] + blocks[b].size
        and offsets[b] < offsets[a] + blocks[a].size
    ]


def least_total(blocks: list[Block]) -> int:
    """Placing in the order of offsets, lowest first, keeps any packing below its ceiling: so some order finds the least."""
    return min(
        max(offset + block.size for block, offset in zip(blocks, first_fit(blocks, order), strict=True))
        for order in itertools.permutations(range(len(blocks)))
    )


def test_the_least_total_of_a_few_blocks_is_found_and_proved() -> None:
    for seed in range(150):
        blocks = random_blocks(random.Random(seed), 6)
        arena = arrange(blocks)
        assert overlapping(blocks, arena.offsets) == []
        assert arena.proven
        assert arena.total == least_total(blocks)


def fits(blocks: list[Block], ceiling: int) -> bool:
    """Whether any offsets at all keep below the ceiling: block by block, every place tried."""
    order = sorted(range(len(blocks)), key=lambda n: (blocks[n].begin, blocks[n].end))
    offsets = dict[int, int]()

    def place(number: int) -> bool:
        if number == len(order):
            return True
        index = order[number]
        block = blocks[index]
        near = [other for other in order[:number] if blocks[other].meets(block)]
        for offset in range(ceiling - block.size + 1):
            if all(offsets[n] + blocks[n].size <= offset or offset + block.size <= offsets[n] for n in near):
                offsets[index] = offset
                if place(number + 1):
                    return True
        return False

    return place(0)


@pytest.mark.parametrize(("ceiling", "times", "longest", "seed"), [
    (7, 6, 4, 119), (8, 8, 4, 54), (8, 8, 4, 267), (8, 8, 4, 324), (8, 8, 6, 15), (8, 8, 6, 326), (9, 10, 5, 109),
])  # fmt: skip
def test_a_total_above_the_largest_live_set_is_proved_too(ceiling: int, times: int, longest: int, seed: int) -> None:
    """Rare blocks that do not fit into the largest live set, in any way."""
    blocks = churn(random.Random(seed), ceiling, times, longest)
    arena = arrange(blocks)
    assert overlapping(blocks, arena.offsets) == []
    assert arena.proven
    assert fits(blocks, arena.total)
    assert not fits(blocks, arena.total - 1)


def test_what_fits_and_what_does_not_is_told_apart() -> None:
    for seed in range(100):
        blocks = churn(random.Random(seed), 8, 8)
        for ceiling in (7, 8, 9):
            found = pack(blocks, ceiling)
            assert (found is not False) == fits(blocks, ceiling)
            assert found is not None


@pytest.mark.parametrize("seed", range(12))
def test_a_rectangle_cut_into_blocks_is_put_together_again(seed: int) -> None:
    rng = random.Random(seed)
    blocks = cut_rectangle(rng, 30 + 10 * seed, 64 + 8 * seed, 4096)
    arena = arrange(blocks)
    assert overlapping(blocks, arena.offsets) == []
    assert arena.total == arena.bound == 4096


@pytest.mark.parametrize("name", ["A", "C", "E", "G", "I"])
def test_published_hard_instances_are_solved_exactly(name: str) -> None:
    blocks = read_blocks(shared("allocation", f"{name}.1048576.csv"))
    since = time.process_time()
    arena = arrange(blocks)
    assert time.process_time() - since < 6
    assert overlapping(blocks, arena.offsets) == []
    assert arena.total == arena.bound <= 1 << 20


def read_blocks(path: Path) -> list[Block]:
    with path.open() as file:
        return [Block(int(row["lower"]), int(row["upper"]), int(row["size"])) for row in csv.DictReader(file)]


def test_a_failure_far_away_in_time_is_not_tried_again() -> None:
    """Choices that a search makes, in all its ways, where few blocks of many are in each other's way."""
    choices = 0
    for seed in (7, 14, 22, 37, 46, 51):
        blocks = churn(random.Random(seed), 30, 14, 5)
        for key, slack_first in orders(blocks):
            rank = [0] * len(blocks)
            for place, index in enumerate(sorted(range(len(blocks)), key=key)):
                rank[index] = place
            packing = Packing(blocks, 30, rank, slack_first=slack_first, effort=3000)
            with contextlib.suppress(OutOfEffortError):
                packing.solve()
            choices += packing.choices
    assert choices <= 28_000


def test_effort_that_runs_out_leaves_a_packing_and_its_gap() -> None:
    blocks = cut_rectangle(random.Random(3), 120, 100, 4096)
    arena = arrange(blocks, effort=5)
    assert overlapping(blocks, arena.offsets) == []
    assert arena.bound == 4096 <= arena.total
    assert arena.proven == (arena.total == 4096)


def test_equal_blocks_always_get_equal_places() -> None:
    blocks = cut_rectangle(random.Random(5), 50, 60, 1000)
    assert arrange(blocks) == arrange(list(blocks))


def test_nothing_needs_nothing() -> None:
    assert arrange([]).total == 0
    arena = arrange([Block(3, 3, 100), Block(1, 4, 0)])
    assert (arena.total, arena.offsets, arena.proven) == (0, (0, 0), True)


def test_one_block() -> None:
    assert arrange([Block(0, 1, 77)]).total == 77


@pytest.mark.slow
def test_thousands_of_blocks_in_a_chain_reach_the_largest_live_set() -> None:
    """As a network without branches has them: each lives until the next one is made."""
    rng = random.Random(1)
    blocks = [Block(time, time + 2, 64 * rng.randint(1, 100)) for time in range(3000)]
    arena = arrange(blocks)
    assert arena.total == arena.bound


def test_sections_are_the_largest_live_sets() -> None:
    for seed in range(50):
        blocks = random_blocks(random.Random(seed), 9)
        live = [frozenset(n for n, b in enumerate(blocks) if b.begin <= time < b.end) for time in range(20)]
        largest = {members for members in live if members and not any(members < other for other in live)}
        found = sections(blocks)
        assert set(found) == largest
        assert len(found) == len(largest)


def test_blocks_of_different_parts_never_meet() -> None:
    for seed in range(20):
        blocks = random_blocks(random.Random(seed), 12, times=30)
        parts = list(independent_parts(blocks))
        assert sorted(n for part in parts for n in part) == list(range(12))
        for one, other in itertools.combinations(parts, 2):
            assert not any(blocks[a].meets(blocks[b]) for a in one for b in other)
