"""Larger groups out of those of a partition: neighbours become one, those that save most first, as long as any do.

Where legal groups are too many to be weighed, or even listed, those of many operations are never reached one operation at a
time. Joined from good ones they are, with no more plans than there are pairs of neighbours.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import combinations

from compiler.fusion.legal import Mask, union
from compiler.search.cost import Evaluator, Objective
from compiler.search.partition import price_of, price_or_none

MayMerge = Callable[[Mask, Mask], bool]
"""Whether two groups are worth being planned as one."""


def merged(evaluator: Evaluator, objective: Objective, groups: Sequence[Mask]) -> list[Mask]:
    """A partition that is not dearer, in which no two groups are worth joining; groups fit."""
    return [sorted(groups), *merges(evaluator, objective, groups)][-1]


def merges(
    evaluator: Evaluator, objective: Objective, groups: Sequence[Mask], may_merge: MayMerge = lambda one, other: True
) -> Iterator[list[Mask]]:
    """Each partition on the way there, with two groups merged in each that are apart in the one before."""
    sets = evaluator.sets
    left: list[Mask] | None = sorted(groups)
    illegal: set[Mask] = set()
    while left is not None:
        pairs = [
            (one, other) for one, other in combinations(left, 2)
            if union(sets.joins, one) & other and one | other not in illegal and may_merge(one, other)
        ]  # fmt: skip
        illegal.update(one | other for one, other in pairs if not sets.legal(one | other))
        pairs = [(one, other) for one, other in pairs if one | other not in illegal]
        evaluator.plan_all([one | other for one, other in pairs], objective)
        worth = []
        for one, other in pairs:
            price = price_or_none(evaluator, objective, one | other)
            apart = price_of(evaluator, objective, one) + price_of(evaluator, objective, other)
            if price is not None and price < apart:
                worth.append((price - apart, one, other))
        left = _with_first(evaluator, left, [(one, other) for _, one, other in sorted(worth)])
        if left is not None:
            yield left


def _with_first(evaluator: Evaluator, groups: Sequence[Mask], pairs: Sequence[tuple[Mask, Mask]]) -> list[Mask] | None:
    """With the first of these pairs that can be; None: with none."""
    for one, other in pairs:
        found = sorted([*(mask for mask in groups if mask not in (one, other)), one | other])
        # Others may wait for one of them, and be waited for by the other.
        if evaluator.sets.in_order(found) is not None:
            return found
    return None
