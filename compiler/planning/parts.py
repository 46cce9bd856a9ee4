"""The parts in which a group is executed, one after the other: channel passes, column tiles, or both."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache, lru_cache

from compiler.planning.columns import TileCut
from compiler.planning.cut import Cut
from compiler.planning.operations import Group
from isa.config import MachineConfig


@dataclass(frozen=True, eq=False)
class Parts:
    """The parts of a group. All go over the rows in the same way, one that suits the widest of them."""

    count: int
    part: Callable[[int], Group]
    shape: Callable[[int], object]
    """Tells a key that is equal for parts that planning cannot tell apart."""
    widest: Callable[[], Group]
    """Tells a part such that a way that suits it suits all parts. Of channel passes it is the last one."""
    tiles: int = 1
    """The column tiles in each pass. ``count`` counts the tiles of all passes."""


def whole(group: Group) -> Parts:
    return Parts(1, lambda _: group, lambda _: (), lambda: group)


def passes(cut: Cut, count: int) -> Parts:
    part = lru_cache(maxsize=None)(lambda number: cut.part(number, count))
    return Parts(count, part, lambda number: cut.shape(number, count), lambda: part(count - 1))


def smallest(config: MachineConfig, group: Group, cut: Cut | None, columns: bool) -> Group:
    """A part of the group in the most passes and, if ``columns``, in the most tiles."""
    part = group if cut is None else cut.part(cut.most - 1, cut.most)
    narrow = TileCut(config, part)
    if not columns or narrow.most == 1:
        return part
    return narrow.widest((narrow.part(number, narrow.most) for number in range(narrow.most)), narrow.most)


def grid(config: MachineConfig, outer: Parts, count: int) -> Parts:
    """The parts with ``count`` column tiles in each of the outer parts."""
    return _grid(outer, lru_cache(maxsize=None)(lambda number: TileCut(config, outer.part(number))), count)


def tiles(config: MachineConfig, group: Group, cut: Cut | None) -> Iterator[list[Parts]]:
    """Yields, for each number of channel passes, the parts with each number of column tiles. The fewest come first."""
    for count in (1, *(cut.counts() if cut else ())):
        yield [*_tiles(config, whole(group) if cut is None or count == 1 else passes(cut, count))]


def _tiles(config: MachineConfig, outer: Parts) -> Iterator[Parts]:
    cuts = lru_cache(maxsize=None)(lambda number: TileCut(config, outer.part(number)))
    for count in TileCut(config, outer.widest()).counts():
        yield _grid(outer, cuts, count)


def _grid(outer: Parts, cuts: Callable[[int], TileCut], count: int) -> Parts:
    """The parts with every pass in column tiles. The tiles of a pass follow each other, so its parameters serve all of them."""

    def shape(number: int) -> object:
        return outer.shape(number // count), cuts(number // count).shape(number % count, count)

    @cache
    def part(number: int) -> Group:
        return cuts(number // count).part(number % count, count)

    @cache
    def widest() -> Group:
        last = outer.count - 1
        distinct = {cuts(last).shape(number, count): number for number in range(count)}
        return cuts(last).widest((part(last * count + number) for number in distinct.values()), count)

    return Parts(outer.count * count, part, shape, widest, count)
