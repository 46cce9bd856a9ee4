"""The global search: each group of a partition gets the scheme that is best for the program (NeoCPU's second level)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from itertools import pairwise

import numpy as np

from compiler.crew import Team
from compiler.fusion.legal import Mask
from compiler.planning.objective import CYCLES
from compiler.planning.plan import Plan
from compiler.planning.schemes import Scheme, plan_as, schemes
from compiler.schemes import dynamic, pbqp
from compiler.schemes.pair_costs import Choices, PairCosts, Timed
from compiler.schemes.problem import Problem, Solution
from compiler.schemes.walk import promising_rows
from compiler.search.cost import Evaluator
from compiler.search.effort import turns_of
from compiler.timing import spent_by
from compiler.xgraph.ops import Cpu

Steps = Sequence[Plan | Cpu]
Solve = Callable[[Problem], Solution]

KEPT = 3
"""Schemes of each group of which all pairs are asked about: with four, no network of three gained more than 0.02 %."""
CHOICES = 6
"""That are made and timed at most: MobileNetV2 on `base` took three until one came again."""
REST = 4
"""Of four networks on four presets two have so many shapes that wait for less: MobileNetV2 on ``nano`` takes 19 156 195 cycles,
not 19 306 613, and hardly fewer if all that wait for three fifths as much each have a choice."""
TOGETHER = 8
"""Programs that are timed between two words of how far it is, by both cores."""


def solved(problem: Problem) -> Solution:
    """By dynamic programming; by PBQP where its tables would be too large."""
    return dynamic.solve(problem) or pbqp.solve(problem)


def with_schemes(
    evaluator: Evaluator, steps: Steps, count: int, solve: Solve = solved, waiting: float | None = None,
    walked: int | None = None,
) -> list[Plan | Cpu]:  # fmt: skip
    """The same groups in the same order, each with the best found of its best plan and ``count`` others.

    Programs tell what each scheme takes beside neighbours that have their best; of the most promising ones all pairs are
    asked about, if there is time for all schemes; then choices are made, and timed, which corrects the costs. The program as
    it was is one of those that are timed, so none is slower than before on the cycle model. ``waiting``: only groups of
    shapes that wait for more than this share of the program, or for most of what all wait for (``that_wait``), have others,
    and of these only the ``walked`` ones that promise most by the walk.
    """
    if not count:
        return list(steps)
    plans = [step for step in steps if isinstance(step, Plan)]
    evaluator.told("search: schemes of groups", turns=turns_of(steps))
    asked = [True] * len(plans) if waiting is None else that_wait(evaluator, steps, waiting)
    find_schemes(evaluator, [plan for plan, ask in zip(plans, asked, strict=True) if ask], count)
    rows = [[plan, *others_of(evaluator, plan, count)] if ask else [plan] for plan, ask in zip(plans, asked, strict=True)]
    if walked is not None and any(len(row) > 1 for row in rows):
        rows = promising_rows(evaluator, steps, rows, walked)
    if all(len(row) == 1 for row in rows):
        return list(steps)
    told = measured(evaluator, steps, rows)
    _ask(evaluator, told, [*told.star()], "each scheme")
    if walked is None:
        promising = [[int(n) for n in np.argsort(costs, kind="stable")[:KEPT]] for costs in told.margins()]
        _ask(evaluator, told, [*told.every(promising)], "the most promising pairs")
    for number in range(CHOICES):
        found = solve(told.problem()).choices
        if found in told.whole:
            break
        _ask(evaluator, told, [found], f"choice {number + 1} of at most {CHOICES}")
    return chosen(steps, rows, min(told.whole, key=told.whole.__getitem__))


def in_schemes(evaluator: Evaluator, steps: Steps) -> list[Plan | Cpu]:
    """With as many schemes as effort has time for."""
    effort = evaluator.effort
    count = effort.schemes if effort.times(steps) else 0
    return with_schemes(evaluator, steps, count, waiting=effort.waiting, walked=effort.walked)


def that_wait(evaluator: Evaluator, steps: Steps, share: float) -> list[bool]:
    """Whether groups of the shape wait together for more than this share of the program's cycles, or are among those that wait
    most of many that wait for less each: so many that the others, all together, wait for at most ``REST`` such shares.

    Groups wait for as long as they take in the program beyond what their busiest unit, or the bus, needs at least.
    """
    cycles, spent = spent_by(evaluator.config, evaluator.graph, steps)
    masks = [_mask(evaluator, step) for step in steps if isinstance(step, Plan)]
    waits: Counter[object] = Counter()
    for mask, taken in zip(masks, spent, strict=True):
        waits[evaluator.shapes.key(mask)] += max(0, taken - int(evaluator.floors.of(mask, CYCLES)))
    left = waits.total()
    asked = set()
    for shape, wait in waits.most_common():
        if wait <= share * cycles and left <= REST * share * cycles:
            break
        asked.add(shape)
        left -= wait
    return [evaluator.shapes.key(mask) in asked for mask in masks]


def _ask(evaluator: Evaluator, told: PairCosts, asked: Sequence[Choices], what: str) -> None:
    for begin in range(0, len(asked), TOGETHER):
        number = f"program {begin + 1} of {len(asked)}"
        evaluator.told(f"search: schemes, {what}, {number}", begin / len(asked))
        told.ask(*asked[begin : begin + TOGETHER])


def measured(evaluator: Evaluator, steps: Steps, rows: Sequence[Sequence[Plan]]) -> PairCosts:
    """``rows``: the schemes of each group."""
    plans = [number for number, step in enumerate(steps) if isinstance(step, Plan)]
    first = [n for n, (before, at) in enumerate(pairwise([-2, *plans])) if at != before + 1]

    def time(choices: Choices) -> Timed:
        return spent_by(evaluator.config, evaluator.graph, chosen(steps, rows, choices))

    team: Team[Choices, Timed] = evaluator.crew.team(time)
    return PairCosts([len(row) for row in rows], first, team.each)


def chosen(steps: Steps, rows: Sequence[Sequence[Plan]], choices: Choices) -> list[Plan | Cpu]:
    """The program with these schemes."""
    plans = iter(row[choice] for row, choice in zip(rows, choices, strict=True))
    return [next(plans) if isinstance(step, Plan) else step for step in steps]


def others_of(evaluator: Evaluator, own: Plan, count: int) -> list[Plan]:
    """Other schemes of a group; found once for each shape."""
    find_schemes(evaluator, [own], count)
    found = evaluator.schemes[_key(evaluator, own, count)] if own.wanted.free else ()
    plans = [plan_as(evaluator.config, own.group, scheme, own.upwards) for scheme in found]
    return [plan for plan in plans if plan is not None]


def find_schemes(evaluator: Evaluator, plans: Sequence[Plan], count: int) -> None:
    """Those of shapes that neither earlier groups nor earlier compilations had are found by all of the crew."""
    database = evaluator.database
    missing: dict[tuple[int, object], Plan] = {}
    for plan in plans:
        key = _key(evaluator, plan, count)
        if not plan.wanted.free or key in evaluator.schemes or key in missing:
            continue
        kept = None if database is None else database.schemes.get(_digest(evaluator, plan, count))
        if kept is None:
            missing[key] = plan
        else:
            evaluator.schemes[key] = kept
    if not missing:
        return
    new = [*missing.values()]
    team: Team[int, tuple[Scheme, ...]] = evaluator.crew.team(lambda n: tuple(schemes(evaluator.config, new[n], count)))
    for key, plan, found in zip(missing, new, team.each(range(len(new))), strict=True):
        evaluator.schemes[key] = found
        if database is not None:
            database.keep_schemes(_digest(evaluator, plan, count), found)
    team.close()


def _mask(evaluator: Evaluator, plan: Plan) -> Mask:
    return sum(1 << evaluator.sets.index[layer.output] for layer in plan.group.layers)


def _key(evaluator: Evaluator, plan: Plan, count: int) -> tuple[int, object]:
    return count, evaluator.shapes.key(_mask(evaluator, plan))


def _digest(evaluator: Evaluator, plan: Plan, count: int) -> str:
    return f"{count} {evaluator.shapes.digest(_mask(evaluator, plan))}"
