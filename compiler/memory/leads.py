"""Outputs over inputs: storages that may share bytes although both are in use while one group runs.

A group that streams rows reads a row of its input for the last time long before it writes the last row of its output (Deep
Fusion, deep memory reuse). The output may begin ``lead`` bytes below the input, or further down, if the program, in the order
in which it is written, never writes to a byte that it has yet to read. The machine runs ahead of that order, but hazards bound
how far: a write waits for the reads of the same bytes.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import inf

from compiler.memory.blocks import Block

Overlaps = Mapping[tuple[int, int], int]
"""For a block and another that begins in the step in which it ends: the bytes by which the other must begin below it."""


@dataclass(frozen=True)
class Touch:
    """The bytes of a storage, counted from its start, that are read or written at one place of a program."""

    storage: str
    written: bool
    begin: int
    end: int


def leads(touches: Iterable[Touch], inputs: Iterable[str], outputs: Iterable[str]) -> dict[tuple[str, str], int]:
    """For each input and output: the bytes by which the output must begin below the input.

    That is the most by which a write at some place of the program ends above a read at a later place.
    """
    unread = dict.fromkeys(inputs, inf)
    found = {(source, target): 0 for source in unread for target in outputs}
    for touch in reversed([*touches]):
        if not touch.written:
            if touch.storage in unread:
                unread[touch.storage] = min(unread[touch.storage], touch.begin)
            continue
        for source, lowest in unread.items():
            if (source, touch.storage) in found and lowest < inf:
                found[source, touch.storage] = max(found[source, touch.storage], touch.end - int(lowest))
    return found


def least_total(blocks: Sequence[Block], overlaps: Overlaps) -> int:
    """A lower bound of the arena: at each time, the bytes in use less the most bytes that can lie in two blocks at once."""
    times = sorted({block.begin for block in blocks if block.begin < block.end})
    savings: dict[int, int] = {}
    for time in {blocks[target].begin for _, target in overlaps}:
        pairs = {pair: lead for pair, lead in overlaps.items() if blocks[pair[1]].begin == time}
        sources = {source for source, _ in pairs}
        targets = {target for _, target in pairs}
        lowest = {target: min(lead for (_, other), lead in pairs.items() if other == target) for target in targets}
        over = sum(max(0, blocks[target].size - lowest[target]) for target in targets)
        savings[time] = min(over, sum(blocks[source].size for source in sources))
    return max(
        (
            sum(block.size for block in blocks if block.begin <= time < block.end) - savings.get(time, 0)
            for time in times
        ),
        default=0,
    )
