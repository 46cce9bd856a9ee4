"""``best``: the cheapest chain of closed sets, by dynamic programming over the sets that legal groups lead to."""

from __future__ import annotations

import heapq
from collections.abc import Sequence
from dataclasses import dataclass

from compiler.fusion.legal import Mask, OpSets
from compiler.search.cost import Evaluator, Objective
from compiler.xgraph.graph import XGraph
from compiler.xgraph.ops import Op
from isa.errors import TilewrightError

MOST_OPS = 10
"""Operations in a group. Longer ones seldom fit, and hardly save more."""
MOST_STATES = 400
"""Closed sets of one size that are followed up; with fewer the result is exact."""


@dataclass(frozen=True)
class Partition:
    """Groups in an order in which they can run."""

    groups: tuple[tuple[Op, ...], ...]
    value: int
    """Of the objective."""
    exact: bool
    """No partition into legal groups of at most ``MOST_OPS`` operations is better, by the costs used."""


def best(graph: XGraph, evaluator: Evaluator, objective: Objective) -> Partition:
    """Visits closed sets from small to large; each keeps the cheapest way to reach it."""
    sets = OpSets(graph)
    reached: dict[Mask, tuple[int, Mask]] = {0: (0, 0)}
    """Closed set -> cost, and the closed set before its last group."""
    levels: dict[int, set[Mask]] = {0: {0}}
    exact = True
    costs: dict[Mask, int | None] = {}
    for size in range(len(sets.ops)):
        level = levels.pop(size, set())
        if len(level) > MOST_STATES:
            exact = False
            level = set(heapq.nsmallest(MOST_STATES, level, key=lambda mask: (reached[mask][0], mask)))
        for done in level:
            spent = reached[done][0]
            walk = sets.groups(done, MOST_OPS)
            useless: bool | None = None
            while True:
                try:
                    group, after = walk.send(useless) if useless is not None else next(walk)
                except StopIteration:
                    break
                if group not in costs:
                    cost = evaluator.cost(sets.members(group))
                    costs[group] = None if cost is None else objective(cost)
                price = costs[group]
                useless = price is None
                if price is None:
                    continue
                if after not in reached or spent + price < reached[after][0]:
                    reached[after] = spent + price, done
                levels.setdefault(after.bit_count(), set()).add(after)
    if sets.everything not in reached:
        alone = next(op for op in sets.ops if evaluator.cost([op]) is None)
        raise TilewrightError(f"layer {alone.name}: no tiling fits configuration {evaluator.config.name}; choose a larger one")
    return Partition(tuple(_chain(sets, reached)), reached[sets.everything][0], exact)


def _chain(sets: OpSets, reached: dict[Mask, tuple[int, Mask]]) -> Sequence[tuple[Op, ...]]:
    groups = []
    at = sets.everything
    while at:
        before = reached[at][1]
        groups.append(tuple(sets.members(at & ~before)))
        at = before
    return groups[::-1]
