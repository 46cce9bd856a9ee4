"""``optimus``: all groups that data flow connects, and the best of all partitions into them (Optimus sections 4 and 5)."""

from __future__ import annotations

from collections.abc import Mapping

from compiler.fusion.grow import grow
from compiler.fusion.legal import Mask
from compiler.search.cost import Evaluator, Objective
from compiler.search.cover import cheapest
from compiler.search.naive import naive
from compiler.search.partition import Partition, made_of, price_of, price_or_none
from compiler.xgraph.graph import XGraph

MOST_OPS = 10
"""Operations in a group. Longer ones seldom fit, and hardly save more."""
MOST_GROUPS = 20_000
MOST_STATES = 200
"""Sets with the same first uncovered operation that are followed up; with fewer the result is exact."""


def optimus(graph: XGraph, evaluator: Evaluator, objective: Objective) -> Partition:
    """The paper's recurrence without its flaw: see ``cover``."""
    sets = evaluator.sets
    grown = grow(sets, sets.feeds, MOST_OPS, MOST_GROUPS, lambda mask: evaluator.cost_of(mask) is not None)
    prices = priced(evaluator, objective, grown.groups)
    return partition_into(evaluator, objective, prices, complete=grown.complete)


def priced(evaluator: Evaluator, objective: Objective, groups: list[Mask]) -> dict[Mask, int]:
    """Of the groups that fit."""
    found = {mask: price_or_none(evaluator, objective, mask) for mask in groups}
    return {mask: price for mask, price in found.items() if price is not None}


def partition_into(
    evaluator: Evaluator, objective: Objective, prices: Mapping[Mask, int], *, complete: bool = True
) -> Partition:
    """The best partition into these groups; single operations are among them."""
    count = len(evaluator.sets.ops)
    guide = [float(price_of(evaluator, objective, 1 << n)) for n in range(count)]
    cover = cheapest(evaluator.sets, prices, evaluator.floors, objective, most_states=MOST_STATES, guide=guide)
    if cover.groups is None:  # every path was given up
        return naive(evaluator.graph, evaluator, objective)
    return made_of(evaluator, objective, cover.groups, exact=complete and cover.dropped is None)
