"""Larger groups out of those of a partition: neighbours become one, those that save most first, as long as any do.

Where legal groups are too many to be weighed, or even listed, those of many operations are never reached one operation at a
time. Joined from good ones they are, with no more plans than there are pairs of neighbours.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations

from compiler.fusion.legal import Mask, union
from compiler.search.cost import Evaluator, Objective
from compiler.search.partition import price_of, price_or_none


def merged(evaluator: Evaluator, objective: Objective, groups: Sequence[Mask]) -> list[Mask]:
    """A partition that is not dearer, in which no two groups are worth joining; groups fit."""
    sets = evaluator.sets
    left = sorted(groups)
    illegal: set[Mask] = set()
    while True:
        pairs = [
            (one, other) for one, other in combinations(left, 2)
            if union(sets.joins, one) & other and one | other not in illegal
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
        for _, one, other in sorted(worth):
            found = sorted([*(mask for mask in left if mask not in (one, other)), one | other])
            # Others may wait for one of them, and be waited for by the other.
            if sets.in_order(found) is not None:
                left = found
                break
        else:
            return left
