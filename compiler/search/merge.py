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
    """A partition that is not dearer, in which no two groups are worth joining."""
    sets = evaluator.sets
    left = sorted(groups)
    savings: dict[Mask, int] = {}
    """Of pairs that are legal together and fit, by what they hold."""
    refused: set[Mask] = set()
    while True:
        pairs = [
            (one | other, one, other) for one, other in combinations(left, 2)
            if union(sets.joins, one) & other and one | other not in refused
        ]  # fmt: skip
        new = [both for both, _, _ in pairs if both not in savings and sets.legal(both)]
        evaluator.plan_all(new, objective)
        for both, one, other in pairs:
            if both in savings:
                continue
            price = price_or_none(evaluator, objective, both) if sets.legal(both) else None
            if price is None:
                refused.add(both)
            else:
                savings[both] = sum(price_of(evaluator, objective, mask) for mask in (one, other)) - price
        worth = sorted((-savings[both], both, one, other) for both, one, other in pairs if savings.get(both, 0) > 0)
        for _, both, one, other in worth:
            found = sorted([*(mask for mask in left if mask not in (one, other)), both])
            # Others may wait for one of them, and be waited for by the other.
            if sets.in_order(found) is not None:
                left = found
                break
        else:
            return left
