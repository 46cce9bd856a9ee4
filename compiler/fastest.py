"""The last choice: of several partitions, and of what their stretches make together, the one whose program is fastest.

The search adds up costs of groups; how neighbouring groups overlap shows only in a program. The contenders are the partitions
of all strategies, and of the groups weighed for them the best where bytes count a little and where nothing else does: small
maps whose parameters fill the bus, as in squeeze and excitation, hide all but bytes. Those that cost so much more than the
cheapest that overlap cannot make up for it (``MARGIN``) are left out. ``splice`` puts them together by what groups take behind
each other (``neighbours.py``): once by what is hoped, once by what is feared. Two that promise to be faster than all programs
so far are timed on the cycle model, which tells what their groups really take, so that other mixtures may look better; and so
on until none does (``GAIN``), or as many were tried as there is time for (``Effort.programs``).

A program that is too long to be timed (``Effort.longest``) is the partition with the least sum of costs.

The first two are timed as whole programs. Of later ones many pairs of neighbours are known from those before, and only
stretches are timed around the pairs that are not (``stretches.py``). What wins is timed whole, so that nothing is taken for
what stretches only promise. Programs and stretches have nothing to do with each other: each of two cores takes its share
(``crew.py``).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from math import inf
from time import perf_counter

from compiler.crew import Team
from compiler.emit.places import APART, Sharing
from compiler.neighbours import Neighbours
from compiler.ordering import smaller
from compiler.planning.objective import CYCLES, DRAM, LEAN
from compiler.planning.plan import Plan
from compiler.search.best import best, best_of_weighed
from compiler.search.cost import Evaluator, Groups
from compiler.search.partition import partition_by, price_of
from compiler.search.splice import Behind, Path, pairs_of, splice
from compiler.search.strategies import CONTENDERS
from compiler.stretches import Stretch, stretches
from compiler.timing import Timed, keep_ends, program_ends, stretch_ends
from compiler.xgraph.ops import Cpu, Op

MARGIN = 1 / 7
"""More than the errors of two sums of costs differ by for partitions of one network, on all networks and presets measured
(docs/performance.md: by 11 % for SqueezeNet on ``zu9``)."""
GAIN = 1 / 1000
"""Of cycles: a program that promises less is not timed. On five networks and three presets 4.5 were timed in the mean;
with 0.2 % a tenth less, for 0.02 % more cycles; with none, and up to eight programs, a tenth more, for 0.03 % less."""


def fastest(evaluator: Evaluator) -> list[Plan | Cpu]:
    """The steps of the fastest program found."""
    effort = evaluator.effort
    neighbours = Neighbours(evaluator)
    found = of_strategies(evaluator) if effort.timed else []
    cheapest = evaluator.whole(partition_by(best, evaluator.graph, evaluator, CYCLES).groups)
    steps = neighbours.steps(neighbours.path(cheapest))
    if not effort.times(steps):
        return steps
    near = contenders(evaluator, neighbours, found)
    if len(near) == 1:
        return neighbours.steps(near[0])
    neighbours.walk_ahead(pairs_of(near))
    tried = Tried(evaluator, neighbours)
    seconds = 0.0
    while asked := promising(near, neighbours, tried.told)[: effort.programs - len(tried.told)]:
        left = f", about {seconds * (effort.programs - len(tried.told)):.0f} s left at most" if tried.told else ""
        evaluator.told(f"search: program {len(tried.told) + 1} of at most {effort.programs} that are timed{left}")
        since = perf_counter()
        tried.ask(asked)
        seconds = (perf_counter() - since) / len(asked)
    evaluator.told("search: program that promises most, timed as a whole")
    return neighbours.steps(tried.fastest())


@dataclass(frozen=True)
class Work:
    """A program to be timed, or one stretch of it."""

    path: Path
    part: Stretch | None = None
    sharing: Sharing = APART


class Tried:
    """Programs of which all neighbours were timed, in these programs or in others."""

    def __init__(self, evaluator: Evaluator, neighbours: Neighbours) -> None:
        self.told: dict[Path, int] = {}
        """When their last groups are done, or, if they were not timed as a whole, what their groups take behind each other."""
        self._evaluator, self._neighbours = evaluator, neighbours
        self._whole: set[Path] = set()
        """Timed from start to end."""
        self._team: Team[Work, Timed | list[int]] = evaluator.crew.team(self._time)

    def ask(self, paths: Sequence[Path]) -> None:
        """The first programs as a whole, later ones where they differ from those before."""
        neighbours, work = self._neighbours, dict[Work, None]()
        if not self.told:
            self._do([Work(path) for path in paths])
        else:
            for path in paths:
                work |= dict.fromkeys(Work(path, part) for part in stretches(neighbours.unknown(path)))
            self._do([*work])
        for path in paths:
            if path not in self._whole:
                self.told[path] = sum_behind(path, neighbours.hoped)

    def fastest(self) -> Path:
        """By what was told; it was timed as a whole, and no other is told to be faster."""
        while (path := min(self.told, key=self.told.__getitem__)) not in self._whole:
            self._do([*self._asked_next(path), Work(path)])
        return path

    def _asked_next(self, path: Path) -> list[Work]:
        """What will be asked of a program that is taken: how long it takes in less DRAM, if that is what it is emitted for.

        Only where a helper times it as it is at the same time.
        """
        evaluator = self._evaluator
        sharing = None if self._team.helper is None else smaller(evaluator.graph, self._neighbours.steps(path))
        return [] if sharing is None else [Work(path, sharing=sharing)]

    def _time(self, work: Work) -> Timed | list[int]:
        config, graph = self._evaluator.config, self._evaluator.graph
        steps = self._neighbours.steps(work.path)
        if work.part is None:
            return program_ends(config, graph, tuple(steps), work.sharing)
        return stretch_ends(config, graph, steps[work.part.start : work.part.stop])

    def _do(self, every: Sequence[Work]) -> None:
        config, graph = self._evaluator.config, self._evaluator.graph
        for work, found in zip(every, self._team.each(every), strict=True):
            if isinstance(found, Timed):
                keep_ends((config, graph, tuple(self._neighbours.steps(work.path)), work.sharing), found)
                if work.sharing != APART:
                    continue
                self._neighbours.note(work.path, found.ends)
                self._whole.add(work.path)
                self.told[work.path] = sum(max(ends.values()) for ends in found.ends)
            elif work.part is not None:
                self._neighbours.note_stretch(work.path, work.part, found)


def promising(near: Sequence[Path], neighbours: Neighbours, told: Mapping[Path, int]) -> list[Path]:
    """At most two that are faster than all programs so far: the best by hope, the best by fear, or else whole partitions."""
    hoped, feared = neighbours.hoped, neighbours.feared
    ways = [(splice(near, hoped), hoped), (splice(near, feared), feared)]
    ways += [(path, hoped) for path in sorted(near, key=lambda path: sum_behind(path, hoped))]
    limit = (1 - GAIN) * min(told.values(), default=inf)
    return [*dict.fromkeys(path for path, behind in ways if path not in told and sum_behind(path, behind) < limit)][:2]


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
    found = [*strategies]
    by_bytes = replace(evaluator, planned_for=CYCLES)
    for objective, part in ((LEAN, "a little"), (DRAM, "alone")):
        evaluator.told(f"search: strategy best, where bytes count {part}")
        found += best_of_weighed(by_bytes, objective)
    costs = {groups: _sum_of_cycles(evaluator, groups) for groups in map(evaluator.whole, found)}
    least = min(costs.values())
    near = {neighbours.path(groups): cost for groups, cost in costs.items() if cost <= (1 + MARGIN) * least}
    return sorted(near, key=near.__getitem__)


def _sum_of_cycles(evaluator: Evaluator, groups: Sequence[Sequence[Op]]) -> int:
    return sum(price_of(evaluator, CYCLES, evaluator.sets.mask(group)) for group in groups)
