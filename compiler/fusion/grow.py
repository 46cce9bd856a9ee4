"""Grows all legal groups, operation by operation (Optimus section 4).

Every connected convex set can be reached through smaller ones. Some operation can be removed so that the rest stays connected,
and is first or last in the data flow of the set; without it the set is still convex. So it is enough to extend legal groups by
one neighbour at a time.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from compiler.fusion.legal import Mask, OpSets, bits_of, union


@dataclass(frozen=True)
class Grown:
    """Groups by size, and the number of those that are missing."""

    groups: list[Mask]
    left_out: int
    """Groups that were found but not asked about, because there were too many of their size. Their extensions do not count."""
    longer: int
    """Groups of one operation more than allowed."""
    most_ops: int
    """The most operations that a group was allowed to have."""

    @property
    def complete(self) -> bool:
        """Whether all groups are there that can be executed and have no more operations than allowed."""
        return not self.left_out

    @property
    def all(self) -> bool:
        """Whether all groups of any number of operations are there."""
        return self.complete and not self.longer


def grow(
    sets: OpSets, joins: Sequence[Mask], most_ops: int, most_of_a_size: int, worth: Callable[[Mask], int | None],
    ahead: Callable[[Sequence[Mask]], None] = lambda groups: None,
) -> Grown:  # fmt: skip
    """Grows groups that ``joins`` connect, of at most ``most_ops`` operations.

    ``worth``: tells the worth of a group. None: the group cannot be executed, and is not extended. That takes long, so at most
    ``most_of_a_size`` groups of equal size are asked about. Where there are more, they are ranked by the worth of the groups
    that they extend. For each first operation the best one is asked about, then the second best, and so on, so that no part of
    a large graph is left without. ``ahead`` is told all groups of a size before any of them is asked about.
    """
    found: list[Mask] = []
    level = [1 << number for number in range(len(sets.ops))]
    left_out = longer = 0
    for size in range(1, most_ops + 1):
        ahead(level)
        values = {group: value for group in level if (value := worth(group)) is not None}
        found += values
        hopes: dict[Mask, int] = {}
        for group, value in values.items():
            for extended in extensions(sets, joins, group):
                hopes[extended] = max(hopes.get(extended, value), value)
        level = list(hopes)
        if size == most_ops:
            longer = len(level)
        elif len(level) > most_of_a_size:
            left_out += len(level) - most_of_a_size
            level = fairly(hopes, most_of_a_size)
    return Grown(found, left_out, longer, most_ops)


def fairly(hopes: Mapping[Mask, float], most: int) -> list[Mask]:
    """The best groups of each first operation, then the second best of each, and so on, up to ``most``."""
    place: dict[Mask, int] = {}
    ranked = []
    for group in sorted(hopes, key=lambda group: (-hopes[group], group)):
        first = group & -group
        place[first] = place.get(first, -1) + 1
        ranked.append((place[first], -hopes[group], group))
    return [group for _, _, group in heapq.nsmallest(most, ranked)]


def extensions(sets: OpSets, joins: Sequence[Mask], group: Mask) -> list[Mask]:
    """The convex groups with one operation more than a convex group.

    If a path leaves the larger group and comes back, the new operation is one of its ends, so only that operation is checked.
    """
    near = union(joins, group) & ~group & ~union(sets.apart, group)
    before, after = union(sets.ancestors, group), union(sets.descendants, group)
    return [
        group | 1 << n for n in bits_of(near)
        if (before | sets.ancestors[n]) & (after | sets.descendants[n]) & ~group == 0
    ]  # fmt: skip
