"""Which schemes are worth a program: by the walk, which tells in a millisecond what a group takes behind another.

What the walk does not see, units that meet in a bank, is as much as most schemes gain. So it only tells which of a group's
schemes promise most between any schemes of its neighbours, and programs on the cycle model tell which is taken.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import numpy as np

from compiler.memory.storage import kin_of
from compiler.planning.behind import Row
from compiler.planning.plan import Plan
from compiler.schemes.dynamic import margins
from compiler.schemes.problem import Costs, Problem
from compiler.search.cost import Evaluator
from compiler.xgraph.ops import Cpu

HOPELESS = 0.006
"""Of what all groups take by the walk: a scheme whose best choice takes so much more is not timed. None that was taken promised
to take more than 0.51 % more. Programs of five networks on six machines are the same without it; MobileNetV2 on ``base`` times
two schemes, not four."""


def promising_rows(
    evaluator: Evaluator, steps: Sequence[Plan | Cpu], rows: Sequence[Sequence[Plan]], count: int
) -> list[list[Plan]]:
    """Of each group's schemes, ``rows``, the first and at most ``count`` others whose best choice takes least by the walk."""
    found = []
    for row, costs in zip(rows, margins(by_walk(evaluator, steps, rows)), strict=True):
        hopeful = [number for number in range(1, len(row)) if costs[number] - costs[0] <= HOPELESS * costs.min()]
        others = sorted(hopeful, key=lambda number: costs[number])[:count]
        found.append([row[0], *(row[number] for number in others)])
    return found


def by_walk(evaluator: Evaluator, steps: Sequence[Plan | Cpu], rows: Sequence[Sequence[Plan]]) -> Problem:
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
