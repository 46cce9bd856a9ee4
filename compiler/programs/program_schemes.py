"""Chooses the schemes of the groups that make the whole program fastest (NeoCPU's second level)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

from compiler.fusion.legal import Mask
from compiler.planning.group_schemes import Alone, Scheme, estimated, plan_as, schemes
from compiler.planning.objective import CYCLES
from compiler.planning.plan import Plan
from compiler.programs.pair_costs import Choices, PairCosts, Table, Timed, cheapest_chain
from compiler.programs.timing import spent_by
from compiler.search.cost import Evaluator
from compiler.search.crew import Team
from compiler.tuned import SCHEME_CHOICES as CHOICES
from compiler.xgraph.ops import Cpu

Steps = Sequence[Plan | Cpu]
Solve = Callable[[Sequence[Table]], Choices]


def in_schemes(evaluator: Evaluator, steps: Steps) -> list[Plan | Cpu]:
    """The steps with better schemes, as far as the effort allows, for the groups that wait most."""
    count = evaluator.effort.schemes if evaluator.effort.times(steps) else 0
    return with_schemes(evaluator, steps, count, that_wait(evaluator, steps, count)) if count else list(steps)


def with_schemes(
    evaluator: Evaluator, steps: Steps, count: int, asked: Sequence[bool] | None = None, solve: Solve = cheapest_chain,
    alone: Alone = estimated,
) -> list[Plan | Cpu]:  # fmt: skip
    """The same groups in the same order. Each that is ``asked`` has its best plan or one of ``count`` others.

    Programs tell what each scheme takes beside neighbours that have their best. Then choices are made and timed, which corrects
    the costs. The program as it was is timed, too, so on the cycle model the result is not slower. ``alone``: tells how long a
    plan takes by itself, to pick the schemes of a group.
    """
    plans = [step for step in steps if isinstance(step, Plan)]
    asked = [True] * len(plans) if asked is None else asked
    evaluator.told("search: schemes of groups")
    find_schemes(evaluator, [plan for plan, ask in zip(plans, asked, strict=True) if ask], count, alone)
    rows = [
        [plan, *(others_of(evaluator, plan, count, alone) if ask else ())] for plan, ask in zip(plans, asked, strict=True)
    ]  # fmt: skip
    if all(len(row) == 1 for row in rows):
        return list(steps)
    told = measured(evaluator, steps, rows)
    star = [*told.star()]
    evaluator.told(f"search: {len(star)} programs with other schemes are timed")
    told.ask(*star)
    for number in range(CHOICES):
        found = solve(told.tables())
        if found in told.whole:
            break
        evaluator.told(f"search: choice {number + 1} of at most {CHOICES} of schemes is timed")
        told.ask(found)
    return chosen(steps, rows, min(told.whole, key=told.whole.__getitem__))


def that_wait(evaluator: Evaluator, steps: Steps, count: int) -> list[bool]:
    """For each group: whether its shape is one of the ``count`` shapes that wait most. All groups of a shape are added up.

    The wait of a group is the time that it takes beyond what its busiest unit, or the bus, needs at least.
    """
    _, spent = spent_by(evaluator.config, evaluator.graph, steps)
    masks = [_mask(evaluator, step) for step in steps if isinstance(step, Plan)]
    waits: Counter[object] = Counter()
    for mask, taken in zip(masks, spent, strict=True):
        waits[evaluator.shapes.key(mask)] += max(0, taken - int(evaluator.floors.of(mask, CYCLES)))
    asked = {shape for shape, _ in waits.most_common(count)}
    return [evaluator.shapes.key(mask) in asked for mask in masks]


def measured(evaluator: Evaluator, steps: Steps, rows: Sequence[Sequence[Plan]]) -> PairCosts:
    """The costs of pairs of schemes, which are measured on request. ``rows``: the schemes of each group."""
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


@dataclass
class Found:
    """The schemes that were found for the groups of a graph. The key has their number, the measure and the shape."""

    evaluator: Evaluator
    schemes: dict[object, tuple[Scheme, ...]] = field(default_factory=dict)

    def key(self, plan: Plan, count: int, alone: Alone) -> object:
        return count, alone is estimated, self.evaluator.shapes.key(_mask(self.evaluator, plan))


def others_of(evaluator: Evaluator, own: Plan, count: int, alone: Alone = estimated) -> list[Plan]:
    """The other schemes of a group, as plans. They are found once for each shape."""
    find_schemes(evaluator, [own], count, alone)
    found: Found = evaluator.once(Found)
    chosen = found.schemes[found.key(own, count, alone)] if own.wanted.free else ()
    plans = [plan_as(evaluator.config, own.group, scheme, own.upwards) for scheme in chosen]
    return [plan for plan in plans if plan is not None]


def find_schemes(evaluator: Evaluator, plans: Sequence[Plan], count: int, alone: Alone = estimated) -> None:
    """Finds the schemes of those plans whose shapes have none yet, with all processes."""
    found: Found = evaluator.once(Found)
    missing = {key: plan for plan in plans if plan.wanted.free and (key := found.key(plan, count, alone)) not in found.schemes}
    new = [*missing.values()]
    if new:
        config = evaluator.config
        team: Team[int, tuple[Scheme, ...]] = evaluator.crew.team(lambda n: tuple(schemes(config, new[n], count, alone)))
        found.schemes |= zip(missing, team.each(range(len(new))), strict=True)
        team.close()


def _mask(evaluator: Evaluator, plan: Plan) -> Mask:
    return sum(1 << evaluator.sets.index[layer.output] for layer in plan.group.layers)
