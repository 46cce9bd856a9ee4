"""Blocks of memory that live for a while, and the sections of time that decide where they may lie."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Block:
    """A block of ``size`` bytes that are in use in the half-open interval ``begin .. end`` of time."""

    begin: int
    end: int
    size: int

    def meets(self, other: Block) -> bool:
        """Whether both live at some time."""
        return self.begin < other.end and other.begin < self.end


def spans(blocks: Sequence[Block]) -> tuple[list[tuple[int, int]], list[int]]:
    """Returns, for each block, the half-open interval of its ``sections``, and the bytes of each section."""
    changes = sorted({time for block in blocks for time in (block.begin, block.end)})
    begins: dict[int, list[int]] = {time: [] for time in changes}
    ends: dict[int, list[int]] = {time: [] for time in changes}
    for index, block in enumerate(blocks):
        if block.begin < block.end:
            begins[block.begin].append(index)
            ends[block.end].append(index)
    first, past = [0] * len(blocks), [0] * len(blocks)
    totals: list[int] = []
    live = 0
    grown = False
    for time in changes:
        if ends[time] and grown:
            totals.append(live)
            grown = False
        for index in ends[time]:
            past[index] = len(totals)
            live -= blocks[index].size
        for index in begins[time]:
            first[index] = len(totals)
            live += blocks[index].size
            grown = True
    return list(zip(first, past, strict=True)), totals


def sections(blocks: Sequence[Block]) -> list[frozenset[int]]:
    """The largest sets of blocks (by index) that live at one time, in the order of time.

    Two blocks live together if and only if they are together in one of these sets, so nothing else of time matters.
    A set is the largest around if a block has come since the last one went, and one goes now.
    """
    reach, totals = spans(blocks)
    found: list[set[int]] = [set() for _ in totals]
    for index, (first, past) in enumerate(reach):
        for members in found[first:past]:
            members.add(index)
    return [frozenset(members) for members in found]


def largest_live_set(blocks: Sequence[Block]) -> int:
    """The most bytes in use at one time. No arena is smaller."""
    return max(spans(blocks)[1], default=0)


def independent_parts(blocks: Sequence[Block]) -> Iterator[list[int]]:
    """Yields the blocks (by index) in sets. No two blocks of different sets live at the same time."""
    part: list[int] = []
    end = 0
    for index in sorted(range(len(blocks)), key=lambda n: (blocks[n].begin, blocks[n].end, n)):
        if part and blocks[index].begin >= end:
            yield part
            part = []
        end = max(end, blocks[index].end) if part else blocks[index].end
        part.append(index)
    if part:
        yield part
