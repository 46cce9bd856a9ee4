"""Schemes where groups wait, chosen by the walk: in a second, where asking the cycle model for every pair takes a minute.

The walk (``planning/behind.py``) tells of each pair of neighbours' schemes what the second takes behind the first, and dynamic
programming finds the best row of them. What it does not see, units that meet in a bank, is as much as most schemes gain: so
only groups are asked that wait for more than that (``SLACK``), only a row that promises more (``PROMISE``) is timed on the
cycle model, and it is taken only if it is faster there.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import numpy as np

from compiler.crew import Team
from compiler.memory.storage import kin_of
from compiler.planning.behind import Row
from compiler.planning.objective import CYCLES
from compiler.planning.plan import Plan
from compiler.schemes.choice import Steps, chosen, others_of, solved
from compiler.schemes.problem import Costs, Problem
from compiler.search.cost import Evaluator
from compiler.timing import program_cycles
from compiler.xgraph.ops import Cpu

SLACK = 1.1
"""Of what its busiest unit, or the bus, needs at least: a group that takes no more behind its neighbour is left as it is."""
PROMISE = 0.005
"""Of the program's cycles."""


def with_walked_schemes(evaluator: Evaluator, steps: Steps, count: int) -> list[Plan | Cpu]:
    """The same groups in the same order, those that wait with the best found of their best plan and ``count`` others."""
    if not count:
        return list(steps)
    slow, cycles = _waiting(evaluator, steps)
    if not any(slow):
        return list(steps)
    plans = [step for step in steps if isinstance(step, Plan)]
    rows = [[plan, *(others_of(evaluator, plan, count) if slows else [])] for plan, slows in zip(plans, slow, strict=True)]
    problem = _problem(evaluator, steps, rows)
    found = solved(problem).choices
    if problem.cost((0,) * len(rows)) - problem.cost(found) < PROMISE * cycles:
        return list(steps)
    evaluator.told("search: schemes of groups that wait, by the walk")
    ways = [list(steps), chosen(steps, rows, found)]
    timed: Team[int, int] = evaluator.crew.team(lambda way: program_cycles(evaluator.config, evaluator.graph, ways[way]))
    before, after = timed.each([0, 1])
    return ways[after < before]


def _waiting(evaluator: Evaluator, steps: Steps) -> tuple[list[bool], int]:
    """Of each group, in the row of all of them, and the cycles of the row."""
    row = Row(evaluator.config, kin_of(evaluator.graph))
    slow = []
    for step in steps:
        if isinstance(step, Plan):
            before = round(row.end)
            mask = sum(1 << evaluator.sets.index[layer.output] for layer in step.group.layers)
            slow.append(row.add(step) - before > SLACK * evaluator.floors.of(mask, CYCLES))
    return slow, round(row.end)


def _problem(evaluator: Evaluator, steps: Steps, rows: Sequence[Sequence[Plan]]) -> Problem:
    """What each scheme takes behind each of the group before; the machine rests before the first, and before CPU parts."""
    rested = Row(evaluator.config, kin_of(evaluator.graph))
    numbers = [number for number, step in enumerate(steps) if isinstance(step, Plan)]
    nodes, edges = [], {}
    for number, (before, at) in enumerate(pairwise([-2, *numbers])):
        if at == before + 1:
            nodes.append(np.zeros(len(rows[number])))
            # What a single pair takes is the same in all choices.
            if len(rows[number - 1]) * len(rows[number]) > 1:
                edges[number - 1, number] = np.array([_behind(rested, first, rows[number]) for first in rows[number - 1]])
        else:
            nodes.append(_behind(rested, None, rows[number]))
    return Problem(tuple(nodes), edges)


def _behind(rested: Row, first: Plan | None, schemes: Sequence[Plan]) -> Costs:
    begun = rested.copy()
    before = begun.add(first) if first else 0
    return np.array([begun.copy().add(second) - before for second in schemes], float)
