"""Arena: the place of each block, in as few bytes as possible, with a proof or a bound.

No arena is smaller than the largest set of blocks that live at one time. First fit, in several orders, reaches that for
most networks. Otherwise ``exact_places.Packing`` searches for it, or for the least total if it proves that there is none.
Effort is counted in choices, not in seconds, so the same blocks always get the same places.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from compiler.memory.blocks import Block, independent_parts, largest_live_set
from compiler.memory.exact_places import OutOfEffortError, Packing, orders
from compiler.tuned import FIRST_PACKING_CHOICES as _FIRST_TRY
from compiler.tuned import PACKING_CHOICES as EFFORT


@dataclass(frozen=True)
class Arena:
    """The offsets of blocks, in ``total`` bytes. No arena has fewer bytes than ``bound``."""

    offsets: tuple[int, ...]
    total: int
    bound: int

    @property
    def proven(self) -> bool:
        return self.total == self.bound


def arrange(blocks: Sequence[Block], effort: int = EFFORT) -> Arena:
    """The arena of these blocks. Blocks that never live, or are empty, lie at 0."""
    offsets = [0] * len(blocks)
    total = bound = 0
    real = [index for index, block in enumerate(blocks) if block.size > 0 and block.begin < block.end]
    parts = [[real[n] for n in part] for part in independent_parts([blocks[index] for index in real])]
    # The part that needs the most comes first: the others have as much room in any case.
    for part in sorted(parts, key=lambda part: (-largest_live_set([blocks[index] for index in part]), part)):
        found = _arrange_part([blocks[index] for index in part], total, effort)
        for index, offset in zip(part, found.offsets, strict=True):
            offsets[index] = offset
        total, bound = max(total, found.total), max(bound, found.bound)
    return Arena(tuple(offsets), total, bound)


def _arrange_part(blocks: Sequence[Block], enough: int, effort: int) -> Arena:
    """The arena of blocks that share no time with others. ``enough``: a total that need not be undercut."""
    bound = largest_live_set(blocks)
    best: Sequence[int] = ()
    total = sum(block.size for block in blocks) + 1
    for rank, _ in orders(blocks):
        offsets = first_fit(blocks, sorted(range(len(blocks)), key=rank))
        if _total(blocks, offsets) < total:
            best, total = offsets, _total(blocks, offsets)
        if total <= max(bound, enough):
            break
    unit = math.gcd(*(block.size for block in blocks))
    # Totals from ``bound`` to ``unknown`` were not found, nor proved to be impossible. Totals of packings in which each block
    # rests on another are multiples of ``unit``.
    unknown = bound
    while bound < total and total > enough:
        ceiling = max(unknown, enough) if unknown == bound else unknown + (total - unknown) // unit // 2 * unit
        if ceiling >= total:
            break
        found = pack(blocks, ceiling, effort)
        if isinstance(found, list):
            best, total = found, _total(blocks, found)
        elif found is False:
            bound = unknown = ceiling // unit * unit + unit
        else:
            unknown = ceiling // unit * unit + unit
    return Arena(tuple(best), total, bound)


def pack(blocks: Sequence[Block], ceiling: int, effort: int = EFFORT) -> list[int] | bool | None:
    """Finds offsets below the ceiling. False: there are none, which is proved. None: none were found with this effort."""
    ways = orders(blocks)
    limit = _FIRST_TRY
    while effort > 0:
        for key, slack_first in ways:
            rank = [0] * len(blocks)
            for place, index in enumerate(sorted(range(len(blocks)), key=key)):
                rank[index] = place
            packing = Packing(blocks, ceiling, rank, slack_first=slack_first, effort=min(limit, effort))
            try:
                return packing.offsets if packing.solve() else False
            except OutOfEffortError:
                effort -= packing.choices
        limit *= 4
    return None


def first_fit(blocks: Sequence[Block], order: Sequence[int]) -> list[int]:
    """Places each block in turn at the lowest offset that is free over its life."""
    begin, end, size = (np.array([getattr(block, name) for block in blocks], np.int64) for name in ("begin", "end", "size"))
    offsets = np.zeros(len(blocks), np.int64)
    placed = np.empty(0, np.intp)  # by offset
    for index in order:
        met = placed[(begin[placed] < end[index]) & (begin[index] < end[placed])]
        tops = np.maximum.accumulate(np.append(0, offsets[met] + size[met]))
        free = offsets[met] - tops[:-1] >= size[index]
        offsets[index] = tops[free.argmax() if free.any() else -1]
        placed = np.insert(placed, np.searchsorted(offsets[placed], offsets[index]), index)
    return [int(offset) for offset in offsets]


def _total(blocks: Sequence[Block], offsets: Sequence[int]) -> int:
    return max(offset + block.size for block, offset in zip(blocks, offsets, strict=True))
