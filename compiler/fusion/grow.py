"""All legal groups, grown operation by operation (Optimus section 4).

Every connected convex set can be reached through smaller ones: of the operations whose removal leaves it connected, one
is first or last in the data flow of the set, and without that one the set is still convex. So it is enough to extend
groups that are legal themselves, by one neighbour at a time.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from compiler.fusion.legal import Mask, OpSets, bits_of, union


@dataclass(frozen=True)
class Grown:
    """Groups by size, and whether these are all."""

    groups: list[Mask]
    complete: bool


def grow(sets: OpSets, joins: Sequence[Mask], most_ops: int, most_groups: int, useful: Callable[[Mask], bool]) -> Grown:
    """Groups connected by ``joins``, of at most ``most_ops`` operations; what is not ``useful`` is not extended.

    Small groups come first: with ``most_groups`` reached, it is larger ones that are left out.
    """
    found: list[Mask] = []
    level = [1 << number for number in range(len(sets.ops))]
    for size in range(1, most_ops + 1):
        extended: dict[Mask, None] = {}
        for group in level:
            if len(found) == most_groups:
                return Grown(found, complete=False)
            if not useful(group):
                continue
            found.append(group)
            if size < most_ops:
                extended |= dict.fromkeys(_extensions(sets, joins, group))
        level = list(extended)
    return Grown(found, complete=True)


def _extensions(sets: OpSets, joins: Sequence[Mask], group: Mask) -> list[Mask]:
    near = union(joins, group) & ~group & ~union(sets.apart, group)
    before, after = union(sets.ancestors, group), union(sets.descendants, group)
    return [
        group | 1 << n for n in bits_of(near)
        if (before | sets.ancestors[n]) & (after | sets.descendants[n]) & ~(group | 1 << n) == 0
    ]  # fmt: skip
