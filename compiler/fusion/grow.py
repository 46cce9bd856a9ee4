"""All legal groups, grown operation by operation (Optimus section 4).

Every connected convex set can be reached through smaller ones: of the operations whose removal leaves it connected, one
is first or last in the data flow of the set, and without that one the set is still convex. So it is enough to extend
groups that are legal themselves, by one neighbour at a time.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from compiler.fusion.legal import Mask, OpSets, bits_of, union


@dataclass(frozen=True)
class Grown:
    """Groups by size, and whether these are all."""

    groups: list[Mask]
    complete: bool


def grow(
    sets: OpSets, joins: Sequence[Mask], most_ops: int, most_of_a_size: int, worth: Callable[[Mask], int | None]
) -> Grown:
    """Groups connected by ``joins``, of at most ``most_ops`` operations.

    ``worth``: the more the better; None: the group cannot be executed, and is not extended. Of more than
    ``most_of_a_size`` groups of equal size those of least worth are given up.
    """
    found: list[Mask] = []
    level = [1 << number for number in range(len(sets.ops))]
    complete = True
    for size in range(1, most_ops + 1):
        values = {group: worth(group) for group in level}
        level = [group for group, value in values.items() if value is not None]
        if size > 1 and len(level) > most_of_a_size:
            level = heapq.nsmallest(most_of_a_size, level, key=lambda group: (-(values[group] or 0), group))
            complete = False
        found += level
        if size < most_ops:
            level = list({extended: None for group in level for extended in _extensions(sets, joins, group)})
    return Grown(found, complete)


def _extensions(sets: OpSets, joins: Sequence[Mask], group: Mask) -> list[Mask]:
    near = union(joins, group) & ~group & ~union(sets.apart, group)
    before, after = union(sets.ancestors, group), union(sets.descendants, group)
    return [
        group | 1 << n for n in bits_of(near)
        if (before | sets.ancestors[n]) & (after | sets.descendants[n]) & ~(group | 1 << n) == 0
    ]  # fmt: skip
