"""The global search: each group of a partition gets the scheme that is best for the program (NeoCPU's second level)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise

import numpy as np

from compiler.planning.plan import Plan
from compiler.planning.schemes import Scheme, plan_as, schemes
from compiler.schemes import dynamic, pbqp
from compiler.schemes.pair_costs import Choices, PairCosts, Timed
from compiler.schemes.problem import Problem, Solution
from compiler.search.cost import Evaluator
from compiler.timing import spent_by
from compiler.xgraph.ops import Cpu

Steps = Sequence[Plan | Cpu]
Solve = Callable[[Problem], Solution]

KEPT = 3
"""Schemes of each group of which all pairs are asked about: with four, no network of three gained more than 0.02 %."""
CHOICES = 6
"""That are made and timed at most: MobileNetV2 on `base` took three until one came again."""


def solved(problem: Problem) -> Solution:
    """By dynamic programming; by PBQP where its tables would be too large."""
    return dynamic.solve(problem) or pbqp.solve(problem)


def with_schemes(evaluator: Evaluator, steps: Steps, count: int, solve: Solve = solved) -> list[Plan | Cpu]:
    """The same groups in the same order, each with the best found of its best plan and ``count`` others.

    Programs tell what each scheme takes beside neighbours that have their best; of the most promising ones all pairs are
    asked about; then choices are made, and timed, which corrects the costs. Never slower than before on the cycle model: the
    program as it was is one of those that are timed.
    """
    if not count:
        return list(steps)
    rows = [[step, *others_of(evaluator, step, count)] for step in steps if isinstance(step, Plan)]
    told = measured(evaluator, steps, rows)
    _ask(evaluator, told, [*told.star()], "each scheme")
    promising = [[int(n) for n in np.argsort(costs, kind="stable")[:KEPT]] for costs in told.margins()]
    _ask(evaluator, told, [*told.every(promising)], "the most promising pairs")
    for number in range(CHOICES):
        found = solve(told.problem()).choices
        if found in told.whole:
            break
        _ask(evaluator, told, [found], f"choice {number + 1} of at most {CHOICES}")
    return chosen(steps, rows, min(told.whole, key=told.whole.__getitem__))


def _ask(evaluator: Evaluator, told: PairCosts, asked: Sequence[Choices], what: str) -> None:
    for number, choices in enumerate(asked, 1):
        evaluator.told(f"search: schemes, {what}, program {number} of {len(asked)}")
        told.ask(choices)


def measured(evaluator: Evaluator, steps: Steps, rows: Sequence[Sequence[Plan]]) -> PairCosts:
    """``rows``: the schemes of each group."""
    plans = [number for number, step in enumerate(steps) if isinstance(step, Plan)]
    first = [n for n, (before, at) in enumerate(pairwise([-2, *plans])) if at != before + 1]

    def time(choices: Choices) -> Timed:
        return spent_by(evaluator.config, evaluator.graph, chosen(steps, rows, choices))

    return PairCosts([len(row) for row in rows], first, time)


def chosen(steps: Steps, rows: Sequence[Sequence[Plan]], choices: Choices) -> list[Plan | Cpu]:
    """The program with these schemes."""
    plans = iter(row[choice] for row, choice in zip(rows, choices, strict=True))
    return [next(plans) if isinstance(step, Plan) else step for step in steps]


def others_of(evaluator: Evaluator, own: Plan, count: int) -> list[Plan]:
    """Other schemes of a group; found once for each shape."""
    config, group = evaluator.config, own.group
    mask = sum(1 << evaluator.sets.index[layer.output] for layer in group.layers)
    found = [plan_as(config, group, scheme, own.upwards) for scheme in _schemes(evaluator, mask, own, count)]
    return [plan for plan in found if plan is not None]


def _schemes(evaluator: Evaluator, mask: int, own: Plan, count: int) -> Sequence[Scheme]:
    """From earlier groups of the shape, or earlier compilations, if there are any."""
    if not own.wanted.free:
        return ()
    key = count, evaluator.shapes.key(mask)
    if key not in evaluator.schemes:
        database = evaluator.database
        digest = f"{count} {evaluator.shapes.digest(mask)}"
        kept = None if database is None else database.schemes.get(digest)
        if kept is None:
            kept = tuple(schemes(evaluator.config, own, count))
            if database is not None:
                database.keep_schemes(digest, kept)
        evaluator.schemes[key] = kept
    return evaluator.schemes[key]
