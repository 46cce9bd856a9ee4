"""Arenas whose blocks may overlap in part, against every way to place a few blocks."""

from __future__ import annotations

import itertools
import random

from compiler.memory.arena import arrange
from compiler.memory.blocks import Block
from compiler.memory.leads import Overlaps, Touch, leads, least_total
from compiler.memory.overlaid import overlaid
from tests.compiler.memory.instances import random_blocks


def clashes(blocks: list[Block], overlaps: Overlaps, offsets: tuple[int, ...]) -> list[tuple[int, int]]:
    """Pairs that live together and share more than they may."""
    found = []
    for a, b in itertools.permutations(range(len(blocks)), 2):
        if blocks[a].meets(blocks[b]) and offsets[a] < offsets[b] + blocks[b].size and offsets[b] < offsets[a] + blocks[a].size:
            allowed = (a, b) in overlaps and offsets[b] + overlaps[a, b] <= offsets[a]
            allowed |= (b, a) in overlaps and offsets[a] + overlaps[b, a] <= offsets[b]
            if not allowed:
                found.append((a, b))
    return found


def drawn(seed: int, count: int) -> tuple[list[Block], Overlaps]:
    """Random blocks; those that end in the step in which another begins may overlap it, with a random lead."""
    rng = random.Random(seed)
    blocks = random_blocks(rng, count, times=5, largest=5)
    overlaps = {
        (a, b): rng.randint(0, blocks[b].size)
        for a, b in itertools.permutations(range(count), 2)
        if blocks[a].end - 1 == blocks[b].begin and blocks[a].begin < blocks[b].begin and rng.random() < 0.7
    }
    return blocks, overlaps


def least_by_trial(blocks: list[Block], overlaps: Overlaps) -> int:
    ceiling = least_total(blocks, overlaps)
    while True:
        places = (range(ceiling - block.size + 1) for block in blocks)
        if any(not clashes(blocks, overlaps, offsets) for offsets in itertools.product(*places)):
            return ceiling
        ceiling += 1


def test_a_few_blocks_lie_as_low_as_any_trial_finds() -> None:
    for seed in range(60):
        blocks, overlaps = drawn(seed, 4)
        arena = overlaid(blocks, overlaps)
        assert clashes(blocks, overlaps, arena.offsets) == []
        assert arena.bound <= least_by_trial(blocks, overlaps) == arena.total


def test_many_blocks_never_clash_and_never_need_more_than_apart() -> None:
    proven = saved = 0
    for seed in range(150):
        blocks, overlaps = drawn(seed, 12)
        arena = overlaid(blocks, overlaps)
        assert clashes(blocks, overlaps, arena.offsets) == []
        assert arena.bound <= arena.total <= arrange(blocks).total
        proven += arena.proven
        saved += arena.total < arrange(blocks).total
    assert proven > 100
    assert saved > 40


def test_a_chain_slides_downwards() -> None:
    """Every map over the one before, two bytes below it; at the bottom there would be no way but far up again."""
    blocks = [Block(n, n + 2, 20) for n in range(6)]
    arena = overlaid(blocks, {(n, n + 1): 2 for n in range(5)})
    assert (arena.total, arena.bound) == (30, 22)
    assert clashes(blocks, {(n, n + 1): 2 for n in range(5)}, arena.offsets) == []


def test_without_overlaps_it_is_the_exact_arena() -> None:
    blocks = random_blocks(random.Random(2), 10)
    assert overlaid(blocks, {}) == arrange(blocks)
    assert overlaid(blocks, {(0, 1): blocks[1].size}) == arrange(blocks)


def test_leads_follow_from_what_is_still_unread() -> None:
    """Rows of ten bytes are read, of eight written: the input is two rows ahead at first, three when the first is written."""
    touches = [Touch("x", False, 0, 20)]
    for row in range(4):
        touches.append(Touch("x", False, 20 + 10 * row, 30 + 10 * row))
        touches.append(Touch("y", True, 8 * row, 8 * row + 8))
    assert leads(touches, ["x"], ["y"]) == {("x", "y"): 0}
    wide = [Touch(t.storage, t.written, 5 * t.begin, 5 * t.end) if t.written else t for t in touches]
    assert leads(wide, ["x"], ["y"]) == {("x", "y"): 3 * 40 - 50}
    assert leads([*touches, Touch("x", False, 0, 10)], ["x"], ["y"]) == {("x", "y"): 32}
    assert leads([], ["x"], ["y"]) == {("x", "y"): 0}
