"""Exact dynamic programming: NeoCPU's Algorithm 2, on any graph that is thin enough.

The choice at a node matters only to its neighbours. So a node can be decided for every choice of its neighbours, and removed:
its least cost becomes a cost of its neighbours together. In a chain this is the table of the last group's schemes, from group
to group; in a tree it is one table for each branch. NeoCPU visits the operations in their order, and keeps the states that are
still open. Here the node with the fewest open neighbours is next, which keeps fewer.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import inf, prod

import numpy as np

from compiler.papers.neocpu.problem import Costs, Problem, Solution, infeasible

STATES = 1 << 22
"""The most states of one table: 32 MB."""

_Table = tuple[tuple[int, ...], Costs]
"""The costs of some nodes together, with an axis for each."""


def solve(problem: Problem, states: int = STATES) -> Solution | None:
    """The exact solution; None if some table would have more than ``states``."""
    tables: list[_Table] = [((n,), costs) for n, costs in enumerate(problem.nodes)]
    tables += problem.edges.items()
    open_to: dict[int, set[int]] = {n: set() for n in range(len(problem.nodes))}
    for first, second in problem.edges:
        open_to[first].add(second)
        open_to[second].add(first)
    decided: list[tuple[int, tuple[int, ...], Costs]] = []
    while open_to:
        node = min(open_to, key=lambda n: prod(len(problem.nodes[other]) for other in open_to[n]))
        others = tuple(sorted(open_to.pop(node)))
        if prod(len(problem.nodes[n]) for n in (node, *others)) > states:
            return None
        total = _together([table for table in tables if node in table[0]], (node, *others))
        decided.append((node, others, total))
        tables = [table for table in tables if node not in table[0]]
        tables.append((others, total.min(axis=0)))
        for other in others:
            open_to[other] |= {*others} - {other}
            open_to[other].discard(node)
    chosen: dict[int, int] = {}
    for node, others, total in reversed(decided):
        own = np.moveaxis(total, 0, -1)[tuple(chosen[n] for n in others)]
        chosen[node] = int(np.argmin(own))
        if own[chosen[node]] == inf:
            raise infeasible()
    choices = tuple(chosen[n] for n in range(len(problem.nodes)))
    return Solution(choices, problem.cost(choices), exact=True)


def _together(tables: Sequence[_Table], axes: tuple[int, ...]) -> Costs:
    """The sum of tables with these axes; each table has some of them."""
    total: Costs = np.zeros(())
    for scope, costs in tables:
        present = [axis for axis in axes if axis in scope]
        turned = costs.transpose([scope.index(axis) for axis in present])
        index = tuple(slice(None) if axis in scope else None for axis in axes)
        total = total + turned[index]
    return total
