"""How long a compilation still takes: what each stage is expected to take, corrected by what those before it took.

Seconds of a stage go with the operations of the graph, where groups are planned, or with the turns of the program, where
programs are made and timed. How fast this machine is, and how hard this network, shows in
the stages that are over: each kind of work is corrected by its own, and before there are any, in part by the other's. A stage
that tells which share of it is done tells its own rest. Where it takes longer than expected, it may go on for a fifth of that.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from time import perf_counter
from typing import TYPE_CHECKING, Protocol

from isa.doing import LONGER, Doing

if TYPE_CHECKING:
    from compiler.search.effort import Effort

Progress = Callable[[str], None]
"""Told what is being done, as it begins."""
PLANNING, PROGRAMS = "planning", "programs"
OF_AN_OPERATION = 8
"""Turns that an operation counts for: programs of few turns have long ones."""
TURNS = 40
"""Of each operation, until a partition is known."""
OF_THE_OTHER = 3 / 4
"""Power of the other kind's correction, until the own is known: a slow machine is slow at both, a hard network is not."""
PRIOR = 1 / 10
"""Weight of what was expected of all work of a kind against what was measured of a part."""


class Told(Protocol):
    """Whoever is told what is being done."""

    def __call__(self, doing: str, share: float = 0.0, turns: int = 0) -> None:
        """``share``: of the stage, that is done; ``turns``: of the program, now known."""


def unheard(doing: str, share: float = 0.0, turns: int = 0) -> None:
    """For nobody."""


@dataclass(frozen=True)
class Stage:
    """``begins``: its reports; ``seconds`` for each operation, or for each turn, if it comes at all."""

    begins: str
    kind: str
    seconds: float
    chance: float = 1.0


def _programs(most: int) -> list[Stage]:
    """The first one is timed as a whole, later ones in part, and most networks take three or four."""
    parts = [(1.0, 1.0), (0.55, 1.0), (0.55, 0.9), (0.3, 0.5), (0.3, 0.15), *[(0.3, 0.03)] * most]
    return [
        Stage(f"search: program {number} of", PROGRAMS, 0.35e-3 * part, chance)
        for number, (part, chance) in enumerate(parts[:most], 1)
    ]  # fmt: skip


def stages_of(strategy: str, cycles: bool, effort: Effort, operations: int) -> list[Stage]:
    """In their order. Programs of so many operations are expected to be timed, or too long for that."""
    timed = effort.timed and TURNS * operations <= effort.longest
    found = [Stage("search", PLANNING, 0.5e-3 if strategy == "best" and cycles and effort.timed else 30e-3)]
    proof = [Stage("search: proof", PLANNING, 0.05), Stage("search: groups near the best", PLANNING, 0.06)]
    if strategy == "best" and effort.proved:
        found += [] if cycles else proof
    if strategy == "best" and cycles:
        rivals = {
            "naive": 0.3e-3, "greedy": 2.5e-3, "dnnvm": 0.4e-3, "fuse-and-shrink": 1e-3, "optimus-online": 7e-3, "best": 1.5e-3,
        }  # fmt: skip
        found += [Stage(f"search: strategy {name}, ", PLANNING, seconds) for name, seconds in rivals.items() if effort.timed]
        found += proof if effort.proved else []
        found.append(Stage("search: groups that promise most", PLANNING, 7e-3))
        if timed:
            found += [
                Stage("search: strategy best, where each", PLANNING, 1.7e-3),
                Stage("search: strategy best, where bytes count", PLANNING, 5e-3),
                Stage("search: groups behind", PLANNING, 6e-3),
                *_programs(effort.programs),
                Stage("search: groups merged", PLANNING, 0.5e-3),
                Stage("search: program with merged groups", PROGRAMS, 0.06e-3, 0.4),
            ]
    if cycles and strategy == "best" and effort.waiting is not None:
        if timed:
            found += [
                Stage("search: schemes of groups", PROGRAMS, 0.1e-3),
                Stage("search: schemes, each", PROGRAMS, 0.15e-3, 0.8),
                Stage("search: schemes, choice", PROGRAMS, 0.1e-3, 0.5),
            ]
    elif cycles and (effort.schemes if strategy == "best" else effort.timed and strategy == "neocpu"):
        found += [
            Stage("search: schemes of groups", PLANNING, 5e-3),
            Stage("search: schemes, each", PROGRAMS, 2.2e-3),
            Stage("search: schemes, the most", PROGRAMS, 1.1e-3),
            Stage("search: schemes, choice", PROGRAMS, 0.7e-3),
        ]
    if strategy == "best" and cycles and effort.proved:
        found.append(Stage("search: what effort normal finds", PLANNING, 20e-3))
    orders = 0.4e-3 if effort.orders_timed else 0.12e-3 if effort.timed or not cycles else 0.04e-3
    return [
        *found, Stage("search: order and places", PROGRAMS, orders), Stage("emit", PROGRAMS, 0.05e-3),
        Stage("pack", PROGRAMS, 0.03e-3),
    ]  # fmt: skip


class Outlook:
    """Passes on what is being done, with about how long everything still takes."""

    def __init__(
        self, progress: Progress, stages: Sequence[Stage], operations: int, clock: Callable[[], float] = perf_counter
    ) -> None:
        self._progress, self._stages, self._clock = progress, stages, clock
        self._operations, self._turns = operations, TURNS * operations
        self._at = -1
        self._took: dict[int, float] = {}
        """Seconds of stages that are over, by their places."""
        self._begun = self._told = clock()
        self._share = 0.0

    def __call__(self, doing: str, share: float = 0.0, turns: int = 0) -> None:
        now = self._clock()
        self._turns = turns or self._turns
        place = self._place(doing)
        if place > self._at:
            if self._at >= 0:
                self._took[self._at] = now - self._begun
            self._at, self._begun, self._share = place, now, 0.0
        if place == self._at:
            self._share, self._told = share, now
        self._progress(Doing(doing, self._left(now) if self._at >= 0 else None))

    def _place(self, doing: str) -> int:
        """The last stage whose reports begin so, for others may begin like a part of it; -1: of no stage."""
        found = [place for place, stage in enumerate(self._stages) if doing.startswith(stage.begins)]
        return max(found, key=lambda place: len(self._stages[place].begins), default=-1)

    def _left(self, now: float) -> float:
        later = sum(
            self._expected(stage) * stage.chance * self._speed(stage.kind) for stage in self._stages[self._at + 1 :]
        )
        stage, taken = self._stages[self._at], now - self._begun
        if self._share > 0:
            rest = (self._told - self._begun) * (1 - self._share) / self._share - (now - self._told)
        else:
            rest = self._expected(stage) * self._speed(stage.kind) - taken
        return later + max(rest, taken * LONGER)

    def _expected(self, stage: Stage) -> float:
        turns = self._turns + OF_AN_OPERATION * self._operations
        return stage.seconds * (self._operations if stage.kind == PLANNING else turns)

    def _speed(self, kind: str) -> float:
        """By how much longer than expected this kind of work takes here."""
        other = self._measured(PROGRAMS if kind == PLANNING else PLANNING, 1.0)
        return self._measured(kind, float(other**OF_THE_OTHER))

    def _measured(self, kind: str, prior: float) -> float:
        whole = PRIOR * sum(self._expected(stage) * stage.chance for stage in self._stages if stage.kind == kind)
        over = [(self._expected(self._stages[place]), took) for place, took in self._took.items()
                if self._stages[place].kind == kind]  # fmt: skip
        expected, took = sum(each for each, _ in over), sum(took for _, took in over)
        return (took + whole * prior) / (expected + whole) if expected + whole else prior
