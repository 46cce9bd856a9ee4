"""Exact search for offsets of blocks below a ceiling: MiniMalloc's order of placing, with conflicts that name their causes.

Time is cut into sections (``blocks.sections``). Each section has a *floor*, below which nothing is placed any more, and
*slack*, the bytes that it may still waste. Blocks are placed from the bottom. The search takes the lowest floor and one section
at that level, and asks which block rests there. Either a block lies at the floor and raises its sections, or none does. Then
the floor rises to where the first block can start, at the cost of slack. Only packings in which every block rests on another
block or on the bottom have to be looked at, because any other packing can be pushed down.

A failure names the sections that caused it. The search skips the alternatives of a choice that changed none of them. Choices
that are far apart in time alternate in the order of levels, but do not affect each other; skipping makes such instances easy.
"""

from __future__ import annotations

import enum
from collections.abc import Callable, Generator, Sequence

from compiler.memory.blocks import Block, sections, spans


class _Kind(enum.IntEnum):
    """Kinds of changes that can be undone."""

    FLOOR = 0
    EARLIEST = 1
    PLACED = 2


class OutOfEffortError(Exception):
    """Raised when the search has made as many choices as it may."""


_Conflict = int | None
"""A mask of the sections that caused a failure. None: there is no failure, all blocks are placed."""
_Search = Generator["_Search", _Conflict, _Conflict]
"""Yields the searches whose results it needs. So the stack does not limit the depth."""


class Packing:
    """The state of the search. ``rank``: the place of each block in the order in which blocks are tried."""

    def __init__(self, blocks: Sequence[Block], ceiling: int, rank: Sequence[int], *, slack_first: bool, effort: int) -> None:
        self.offsets = [0] * len(blocks)
        self.choices = 0
        self._size = [block.size for block in blocks]
        self._ceiling = ceiling
        self._rank = rank
        self._slack_first = slack_first
        self._effort = effort
        live = sections(blocks)
        self._first = [0] * len(blocks)
        self._last = [-1] * len(blocks)
        for number, members in enumerate(live):
            for index in members:
                if self._last[index] < 0:
                    self._first[index] = number
                self._last[index] = number
        self._span = [(1 << last + 1) - (1 << first) for first, last in zip(self._first, self._last, strict=True)]
        self._left = [set(members) for members in live]
        self._floor = [0] * len(live)
        self._slack = [ceiling - sum(self._size[index] for index in members) for members in live]
        self._earliest = [0] * len(blocks)
        self._trail: list[tuple[_Kind, int, int]] = []
        self._seen = 0
        """A mask of the sections that were looked at since it was last set to 0."""

    def solve(self) -> bool:
        """Whether all blocks fit below the ceiling. If so, ``offsets`` has their places."""
        if min(self._slack, default=0) < 0 or not self._settle(set(range(len(self._left)))):
            return False
        stack: list[_Search] = [self._parts(0, len(self._left) - 1)]
        result: _Conflict = None
        while stack:
            try:
                stack.append(stack[-1].send(result))
                result = None
            except StopIteration as stop:
                stack.pop()
                result = stop.value
        return result is None

    def _parts(self, begin: int, end: int) -> _Search:
        """Places the blocks that are left in these sections, part by part. Parts share no block; the tightest comes first."""
        parts: list[tuple[int, int]] = []
        number = begin
        while number <= end:
            first = past = number
            while number <= past:
                past = max([past, *(self._last[index] for index in self._left[number])])
                number += 1
            if self._left[first]:
                parts.append((first, past))
        if len(parts) > 1:
            parts.sort(key=lambda part: min(self._slack[part[0] : part[1] + 1]))
        mark = len(self._trail)
        for part in parts:
            conflict = yield self._choose(*part)
            if conflict is not None:
                self._undo(mark)
                return conflict
        return None

    def _choose(self, begin: int, end: int) -> _Search:
        """Tries each block that may lie at the lowest floor of a section, and then none of them."""
        self.choices += 1
        if self.choices > self._effort:
            raise OutOfEffortError
        section, resting = self._lowest(begin, end)
        level = self._floor[section]
        mark = len(self._trail)
        conflict = 1 << section
        possible = True
        for number, index in enumerate(resting):
            tried = len(self._trail)
            self._seen = 0
            placed = self._place(index)
            conflict |= self._seen
            if placed:
                found = yield self._parts(begin, end)
                if found is None:
                    return None
                to_blame = self._changed(tried) & found
                self._undo(tried)
                if not to_blame:
                    blamed = self._changed(mark) & found
                    self._undo(mark)
                    return conflict | found if blamed else found
                conflict |= found
            self._undo(tried)
            conflict |= self._span[index]
            self._seen = 0
            possible = self._lift(index)
            conflict |= self._seen
            if not possible or any(self._earliest[other] != level for other in resting[number + 1 :]):
                break
        if possible:
            found = yield self._parts(begin, end)
            if found is None:
                return None
            conflict = conflict | found if self._changed(mark) & found else found
        self._undo(mark)
        return conflict

    def _lowest(self, begin: int, end: int) -> tuple[int, list[int]]:
        """Returns a section of the lowest floor, and the blocks that may rest there."""
        numbers = [number for number in range(begin, end + 1) if self._left[number]]
        level = min([self._floor[number] for number in numbers])
        best: tuple[tuple[int, int], int, list[int]] | None = None
        for number in numbers:
            if self._floor[number] == level:
                resting = [index for index in self._left[number] if self._earliest[index] == level]
                ways = len(resting) + (self._slack[number] > 0)
                urgency = (self._slack[number], ways) if self._slack_first else (ways, self._slack[number])
                if best is None or urgency < best[0]:
                    best = urgency, number, resting
        assert best is not None
        return best[1], sorted(best[2], key=self._rank.__getitem__)

    def _place(self, index: int) -> bool:
        """Places the block as low as it can be. False: another block has no room then."""
        offset, size = self._earliest[index], self._size[index]
        self.offsets[index] = offset
        self._seen |= self._span[index]
        self._trail.append((_Kind.PLACED, index, 0))
        span = range(self._first[index], self._last[index] + 1)
        for number in span:
            self._left[number].discard(index)
            self._slack[number] += size
        changed = set(span)
        return all(self._raise(number, offset + size, changed) for number in span) and self._settle(changed)

    def _lift(self, index: int) -> bool:
        """Decides that the block lies above its lowest place, on a block that is still to be placed. False: that cannot be."""
        span = range(self._first[index], self._last[index] + 1)
        near = set().union(*(self._left[number] for number in span)) - {index}
        if not near:
            return False
        self._trail.append((_Kind.EARLIEST, index, self._earliest[index]))
        self._earliest[index] = min([self._earliest[other] + self._size[other] for other in near])
        return self._settle(set(span))

    def _settle(self, changed: set[int]) -> bool:
        """Raises each floor to the lowest place of a block above it, until no floor rises. False: a block has no room then."""
        earliest, size, ceiling = self._earliest, self._size, self._ceiling
        while changed:
            number = changed.pop()
            if self._left[number]:
                self._seen |= 1 << number
                least = ceiling
                for index in self._left[number]:
                    lowest = earliest[index]
                    if lowest < least:
                        least = lowest
                    if lowest + size[index] > ceiling:
                        return False
                if least > self._floor[number] and not self._raise(number, least, changed):
                    return False
        return True

    def _raise(self, number: int, level: int, changed: set[int]) -> bool:
        floor = self._floor[number]
        if level <= floor:
            return True
        self._seen |= 1 << number
        if self._slack[number] < level - floor:
            return False
        self._trail.append((_Kind.FLOOR, number, floor))
        self._floor[number] = level
        self._slack[number] -= level - floor
        for index in self._left[number]:
            lowest = self._earliest[index]
            if lowest < level:
                self._trail.append((_Kind.EARLIEST, index, lowest))
                self._earliest[index] = level
                changed.update(range(self._first[index], self._last[index] + 1))
        return True

    def _changed(self, mark: int) -> int:
        """The sections that changed since the trail was ``mark`` long."""
        mask = 0
        for kind, index, _ in self._trail[mark:]:
            mask |= 1 << index if kind is _Kind.FLOOR else self._span[index]
        return mask

    def _undo(self, mark: int) -> None:
        while len(self._trail) > mark:
            kind, index, old = self._trail.pop()
            if kind is _Kind.FLOOR:
                self._slack[index] += self._floor[index] - old
                self._floor[index] = old
            elif kind is _Kind.EARLIEST:
                self._earliest[index] = old
            else:
                for number in range(self._first[index], self._last[index] + 1):
                    self._left[number].add(index)
                    self._slack[number] -= self._size[index]


def orders(blocks: Sequence[Block]) -> list[tuple[Callable[[int], tuple[int, ...]], bool]]:
    """The ways to search, the best first. A way is the rank of a block, and whether sections of little slack go first."""
    reach, totals = spans(blocks)
    width = [past - first for first, past in reach]
    crowd = [max(totals[first:past], default=0) for first, past in reach]

    def crowded_then_large(index: int) -> tuple[int, ...]:
        return -crowd[index], -blocks[index].size, index

    def wide(index: int) -> tuple[int, ...]:
        return -width[index], -blocks[index].size, index

    def large(index: int) -> tuple[int, ...]:
        return -blocks[index].size, -width[index], index

    def area(index: int) -> tuple[int, ...]:
        return -blocks[index].size * width[index], index

    return [(crowded_then_large, True), (wide, False), (large, True), (large, False), (wide, True), (area, True)]
