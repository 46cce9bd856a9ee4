"""Finds an arena of blocks of which some may overlap: by first fit in many orders, and exactly without overlaps.

The lower bound (``leads.least_total``) says how much a better arena could save.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from compiler.memory.arena import Arena, arrange
from compiler.memory.blocks import Block, sections
from compiler.memory.exact_places import orders
from compiler.memory.leads import Overlaps, least_total
from compiler.tuned import OVERLAY_ROUNDS as ROUNDS
from compiler.tuned import OVERLAY_VISITS as VISITS
from compiler.tuned import PACKING_CHOICES as EFFORT


def overlaid(blocks: Sequence[Block], overlaps: Overlaps, effort: int = EFFORT) -> Arena:
    """The arena of all blocks. Pairs in ``overlaps`` may share bytes as far as these say."""
    real = [n for n, block in enumerate(blocks) if block.size > 0 and block.begin < block.end]
    place = {index: n for n, index in enumerate(real)}
    kept = [blocks[index] for index in real]
    pairs = {
        (place[source], place[target]): lead
        for (source, target), lead in overlaps.items()
        if source in place and target in place and lead < blocks[target].size
    }
    if not pairs:
        return arrange(blocks, effort)
    bound = least_total(kept, pairs)
    best, total = _first_fits(kept, pairs, bound)
    if total > bound:
        apart = arrange(kept, effort)
        if apart.total < total:
            best, total = list(apart.offsets), apart.total
    offsets = [0] * len(blocks)
    for index, offset in zip(real, best, strict=True):
        offsets[index] = offset
    return Arena(tuple(offsets), total, bound)


def _first_fits(blocks: Sequence[Block], overlaps: Overlaps, bound: int) -> tuple[list[int], int]:
    near = _neighbours(blocks)
    lifts = _lifts(blocks, overlaps)
    best: tuple[int, list[int]] | None = None
    for lifted in (lifts, [0] * len(blocks)):
        for rank, _ in orders(blocks):
            order = sorted(range(len(blocks)), key=rank)
            for offsets in _improved(blocks, overlaps, near, lifted, order):
                total = max(offset + block.size for offset, block in zip(offsets, blocks, strict=True))
                if best is None or total < best[0]:
                    best = total, offsets
                if total <= bound:
                    return offsets, total
    assert best is not None
    return best[1], best[0]


def _improved(
    blocks: Sequence[Block], overlaps: Overlaps, near: Sequence[set[int]], lifts: Sequence[int], order: list[int]
) -> Iterator[list[int]]:
    """Yields offsets in several orders. Each time the block that ended highest moves to the front of the order."""
    seen: set[tuple[int, ...]] = set()
    rounds = min(ROUNDS, max(2, VISITS // max(1, sum(map(len, near)))))
    while tuple(order) not in seen and len(seen) < rounds:
        seen.add(tuple(order))
        offsets = _fit(blocks, overlaps, near, lifts, order)
        yield offsets
        ends = [offset + block.size for offset, block in zip(offsets, blocks, strict=True)]
        highest = max(range(len(blocks)), key=lambda index: (ends[index], -index))
        order = [highest, *(index for index in order if index != highest)]


def _fit(
    blocks: Sequence[Block], overlaps: Overlaps, near: Sequence[set[int]], lifts: Sequence[int], order: Sequence[int]
) -> list[int]:
    """Places each block in turn at the lowest free offset that is not below its lift."""
    offsets = [-1] * len(blocks)
    for index in order:
        size = blocks[index].size
        taken = []
        for other in near[index]:
            if offsets[other] >= 0:
                below, above = size, blocks[other].size
                below = overlaps.get((other, index), below)
                above = overlaps.get((index, other), above)
                taken.append((offsets[other] - below, offsets[other] + above))
        where = lifts[index]
        for begin, end in sorted(taken):
            if begin >= where:
                break
            where = max(where, end)
        offsets[index] = where
    return offsets


def _neighbours(blocks: Sequence[Block]) -> list[set[int]]:
    near: list[set[int]] = [set() for _ in blocks]
    for members in sections(blocks):
        for index in members:
            near[index] |= members
    for index, own in enumerate(near):
        own.discard(index)
    return near


def _lifts(blocks: Sequence[Block], overlaps: Overlaps) -> list[int]:
    """For each block: the bytes above the bottom at which it must begin, so that a block that overlaps it can begin below."""
    lifts = [0] * len(blocks)
    for index in sorted(range(len(blocks)), key=lambda n: -blocks[n].end):
        pairs = [(min(blocks[index].size, blocks[target].size - lead), -lead, target)
                 for (source, target), lead in overlaps.items() if source == index]
        if pairs:
            _, lead, target = max(pairs)
            lifts[index] = lifts[target] - lead
    return lifts
