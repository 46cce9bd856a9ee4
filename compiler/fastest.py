"""The last choice: of several partitions, and of what their stretches make together, the one whose program is fastest.

The search adds up costs of groups; how neighbouring groups overlap shows only in a program. The contenders are the partitions
of most strategies, and of the groups weighed for them the best where bytes count a little and where nothing else does: small
maps whose parameters fill the bus, as in squeeze and excitation, hide all but bytes; and the best where each group costs
something more, or less (``CHARGES``), for what it hides of its neighbours, or waits for. Those that cost so much more than the
cheapest that overlap cannot make up for it (``MARGIN``) are left out. ``splice`` puts them together by what groups take behind
each other (``neighbours.py``): by what is hoped, and every other time by what is feared. What promises to be faster than all
programs so far is timed on the cycle model, which tells what its groups really take, so that other mixtures may look better;
and so on until none does (``GAIN``), or as many were tried as there is time for (``Effort.programs``). Of the fastest, groups
are merged with their neighbours where that may save something (``merged_groups.py``), and again mixtures are timed that promise
more.

A program that is too long to be timed (``Effort.longest``) is the partition with the least sum of costs.

Pairs of neighbours that a program before it had, or that it had before, are known: only stretches are timed around those that
are not (``stretches.py``), and each of two cores takes a half of them (``crew.py``). So what the program that
is taken is told to take is off by 1.2 % at worst, and by 0.01 % in the median (docs/performance.md, *Rows of groups*), that of
others by 1.9 % for MobileNetV2 on ``zu9``; to time the fastest of them as a whole, and until none was told to be faster,
changed no choice for four networks on three presets. Short programs are timed whole (``SHORT``), for that takes no time: the
demo's five groups were told to take 15 % too long.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from math import inf

from compiler.crew import Team
from compiler.fusion.legal import Mask
from compiler.merged_groups import with_merged_groups
from compiler.natives import prepare
from compiler.neighbours import Neighbours
from compiler.planning.objective import CYCLES, DRAM, LEAN
from compiler.planning.plan import Plan
from compiler.search.best import best, best_of_weighed, plan_promising
from compiler.search.cost import Evaluator, Groups, Objective
from compiler.search.effort import turns_of
from compiler.search.partition import made_of, partition_by, price_of
from compiler.search.splice import Behind, Path, pairs_of, splice
from compiler.search.strategies import CONTENDERS
from compiler.stretches import Stretch, halves, stretches
from compiler.timing import stretch_ends
from compiler.xgraph.ops import Cpu, Op

MARGIN = 1 / 7
"""More than the errors of two sums of costs differ by for partitions of one network, on all networks and presets measured
(docs/performance.md: by 11.4 % for ResNet-152 on ``zu9``)."""
CHARGES = (1, -1, 300, -300)
"""Cycles of a group: with one more, or less, of partitions that cost the same that of fewer groups, or of more."""
SHORT = 500
"""Turns (``Plan.turns``) of a program that is timed as a whole: SqueezeNet has 400 on ``base``, MobileNetV2 1 200."""
MERGES = 2
"""Programs that are timed at most with all groups merged that seem worth it, and as many with some of them."""
MERGED_GAIN = 1 / 400
"""Of cycles, that merged groups must save, for there is less to choose from among schemes of fewer groups: SqueezeNet on
``zu9`` takes 0.1 % fewer with them, and 0.4 % more once schemes are chosen."""
GAIN = 1 / 1000
"""Of cycles: a program that promises less is not timed."""


def fastest(evaluator: Evaluator) -> list[Plan | Cpu]:
    """The steps of the fastest program found."""
    effort = evaluator.effort
    neighbours = Neighbours(evaluator)
    found = of_strategies(evaluator) if effort.timed else []
    cheapest = evaluator.whole(partition_by(best, evaluator.graph, evaluator, CYCLES).groups)
    steps = neighbours.steps(neighbours.path(cheapest))
    if not effort.times(steps):
        return steps
    evaluator.told("search: strategy best, where each group costs more, or less", turns=turns_of(steps))
    near = contenders(evaluator, neighbours, found)
    if len(near) == 1:
        return neighbours.steps(near[0])
    neighbours.walk_ahead(pairs_of(near))
    if turns_of(steps) > SHORT:
        prepare(evaluator.told)
    tried = Tried(evaluator, neighbours)
    tried.choose(near, effort.programs, "program")
    return neighbours.steps(merged_if_faster(evaluator, neighbours, tried))


@dataclass(frozen=True)
class Work:
    """A stretch of a program to be timed."""

    path: Path
    part: Stretch


class Tried:
    """Programs of which all neighbours were timed, in these programs or in others."""

    def __init__(self, evaluator: Evaluator, neighbours: Neighbours) -> None:
        self.told: dict[Path, int] = {}
        """What their groups take behind each other."""
        self._evaluator, self._neighbours = evaluator, neighbours
        self._team: Team[Work, list[int]] = evaluator.crew.team(self._time)

    def choose(self, near: Sequence[Path], most: int, what: str) -> None:
        """Ask for at most so many mixtures of these that promise to be faster than all so far."""
        for number in range(1, most + 1):
            path = next_asked(near, self._neighbours, self.told)
            if path is None:
                return
            self._evaluator.told(f"search: {what} {number} of at most {most} that are timed")
            self.ask(path)

    def ask(self, path: Path) -> None:
        """What is not known of it is timed, by each core a half; a short one as a whole."""
        neighbours = self._neighbours
        turns = [step.turns if isinstance(step, Plan) else 0 for step in neighbours.steps(path)]
        unknown = neighbours.unknown(path)
        short = sum(turns) <= SHORT
        asked = [[None if each is None else True for each in unknown]] if short else halves(unknown, turns)
        parts = [(groups, part) for groups in asked for part in stretches(groups)]
        found = self._team.each([Work(path, part) for _, part in parts])
        for (groups, part), ends in zip(parts, found, strict=True):
            neighbours.note(path, groups, part, ends)
        self.told[path] = sum(ends[-1] for ends in found) if short else sum_behind(path, neighbours.hoped)

    def fastest(self) -> Path:
        """By what was told."""
        return min(self.told, key=self.told.__getitem__)

    def _time(self, work: Work) -> list[int]:
        steps = self._neighbours.steps(work.path, work.part.start, work.part.stop)
        return stretch_ends(self._evaluator.config, self._evaluator.graph, steps)


def next_asked(near: Sequence[Path], neighbours: Neighbours, told: Mapping[Path, int]) -> Path | None:
    """What is faster than all programs so far by hope, or every other time by fear, before the other, and whole partitions.

    Two are timed in any case: what groups of the first took beyond the walk they might not take in others.
    """
    hoped, feared = neighbours.hoped, neighbours.feared
    ways = [(splice(near, hoped), hoped), (splice(near, feared), feared)]
    if len(told) % 2:
        ways.reverse()
    ways += [(path, hoped) for path in sorted(near, key=lambda path: sum_behind(path, hoped))]
    limit = (1 - GAIN) * min(told.values()) if len(told) > 1 else inf
    return next((path for path, behind in ways if path not in told and sum_behind(path, behind) < limit), None)


def merged_if_faster(evaluator: Evaluator, neighbours: Neighbours, tried: Tried) -> Path:
    """The fastest program so far, or one with more of its groups merged, if that is worth it."""
    evaluator.told("search: groups merged with their neighbours")
    path = tried.fastest()
    merged = with_merged_groups(neighbours, path)
    for ways in ([path, *merged[-1:]], [path, *merged]) if merged else ():
        neighbours.walk_ahead(pairs_of(ways))
        tried.choose(ways, MERGES, "program with merged groups")
    larger = tried.fastest()
    return larger if tried.told[larger] <= (1 - MERGED_GAIN) * tried.told[path] else path


def sum_behind(path: Path, behind: Behind) -> int:
    return sum(behind(*pair) for pair in pairwise((0, *path)))


def of_strategies(evaluator: Evaluator) -> list[Groups]:
    """Partitions with few cycles by the sum of costs."""
    found = []
    for number, (name, strategy) in enumerate(CONTENDERS.items(), 1):
        evaluator.told(f"search: strategy {name}, {number} of {len(CONTENDERS)}")
        found.append(partition_by(strategy, evaluator.graph, evaluator, CYCLES).groups)
    return found


def contenders(evaluator: Evaluator, neighbours: Neighbours, strategies: Sequence[Groups]) -> list[Path]:
    """Partitions that may be worth a program, the one with the least sum of costs first."""
    by_bytes = evaluator.planning_for(CYCLES)

    def solved(way: tuple[Objective, int]) -> list[Mask] | None:
        return best_of_weighed(by_bytes, *way)

    chosen = evaluator.crew.team(solved).each([(CYCLES, charge) for charge in CHARGES])
    evaluator.told("search: strategy best, where bytes count a little, or alone")
    for objective in (LEAN, DRAM):
        plan_promising(by_bytes, objective)
        chosen.append(solved((objective, 0)))
    found = [*strategies, *(made_of(by_bytes, CYCLES, masks).groups for masks in chosen if masks is not None)]
    evaluator.told("search: groups behind each other")
    costs = {groups: _sum_of_cycles(evaluator, groups) for groups in map(evaluator.whole, found)}
    least = min(costs.values())
    near = {neighbours.path(groups): cost for groups, cost in costs.items() if cost <= (1 + MARGIN) * least}
    return sorted(near, key=near.__getitem__)


def _sum_of_cycles(evaluator: Evaluator, groups: Sequence[Sequence[Op]]) -> int:
    return sum(price_of(evaluator, CYCLES, evaluator.sets.mask(group)) for group in groups)
