"""Schemes of a group: plans, besides the one that is best alone, that differ in their effect on neighbours (NeoCPU).

The cycles of a plan alone say little about its cycles between two other groups. Few large steps wait longer for the group
before, but issue fewer instructions. Passes need less of the weight buffer at a time, so the next group's weights come early.
Fewer words of the feature-map buffer leave room to the neighbours. None of these measures decides alone. So a scheme is left
out only if it is like a better one: of each *sort*, then of each *kind*, the cheapest alone is kept.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import astuple, dataclass, replace

from compiler.layers.fit import FitError
from compiler.planning.cut import Cut, cut_of
from compiler.planning.objective import CYCLES, LEAN
from compiler.planning.operations import Group
from compiler.planning.plan import Plan
from compiler.planning.plan_group import plan_group
from compiler.planning.stepping import step_counts
from compiler.schedule.document import GroupSchedule, ScheduleError
from compiler.tuned import DEAREST_SCHEME as DEAREST
from compiler.tuned import MOST_PASSES, THINNED
from isa.config import MachineConfig

Alone = Callable[[Plan], int]
"""Tells the cycles that a plan takes by itself."""
_Rank = tuple[int, int, int]
"""The cycles alone, the bytes, and the words of the feature-map buffer."""


@dataclass(frozen=True)
class Scheme:
    """The decisions of a plan. They have no names of maps or layers, so they hold for all groups of one shape."""

    steps: int
    pipelined: bool
    passes: int
    held: bool
    """Whether maps that every pass reads in whole stay on chip."""
    partly: bool
    """Whether some blocks of a layer's parameters may stay and others come again in every step."""
    turned: bool
    """Whether maps are placed from the other end of the feature-map buffer."""

    @property
    def sort(self) -> object:
        """The sort: one step, sequential, pipelined or in passes, and whether it is at the other end."""
        return self.turned, self.passes > 1 or (self.steps > 1, self.pipelined)

    @property
    def kind(self) -> object:
        """The kind. Plans of one kind have equal passes, and numbers of steps with the same highest bit."""
        return self.passes, self.held, self.pipelined, self.steps.bit_length(), self.partly, self.turned


def scheme_of(plan: Plan, turned: bool = False) -> Scheme:
    """The scheme of a plan that was planned for cycles."""
    return Scheme(plan.steps, plan.pipelined, plan.over_channels, bool(plan.held), False, turned)


def whole_scheme(plan: Plan) -> Scheme | None:
    """The scheme of a plan. None: the plan has tiles, bands, shared words or decisions of a schedule, which no scheme says."""
    tiled = plan.tiles > 1 or plan.bands > 1
    return None if tiled or plan.way.in_turn or not plan.wanted.free else scheme_of(plan)


def plan_as(config: MachineConfig, group: Group, scheme: Scheme, upwards: bool) -> Plan | None:
    """The plan that a scheme stands for. None: it does not fit. ``upwards``: the end at which the best plan alone lies."""
    cut = cut_of(config, group) if scheme.held else None
    wanted = GroupSchedule(
        tuple(layer.op.name for layer in group.layers), scheme.steps, scheme.pipelined, scheme.passes, 1,
        cut.whole if cut else (),
    )  # fmt: skip
    try:
        return plan_group(config, group, LEAN if scheme.partly else CYCLES, upwards is not scheme.turned, wanted=wanted)
    except (ScheduleError, FitError):
        return None


def estimated(plan: Plan) -> int:
    """The cycles of a plan alone, as the planner estimates them."""
    return plan.cost.cycles


def schemes(config: MachineConfig, own: Plan, count: int, alone: Alone = estimated) -> list[Scheme]:
    """At most ``count`` schemes besides the group's best plan for cycles, ``own``. The cheapest ``alone`` come first.

    A group gets none if it only fits in column tiles or bands, or if a schedule decides anything of it.
    """
    if own.tiles > 1 or own.bands > 1 or not own.wanted.free:
        return []
    best = scheme_of(own)
    turned = replace(best, turned=True)
    ranked = [scheme for _, scheme in sorted([(_rank(own, alone), turned), *_others(config, own, alone)], key=_in_order)]
    sorts = {scheme.sort: scheme for scheme in reversed(ranked)}
    kinds = {best.kind: best} | {scheme.kind: scheme for scheme in ranked if sorts[scheme.sort] == scheme}
    for scheme in ranked:
        kinds.setdefault(scheme.kind, scheme)
    return [*kinds.values()][1 : count + 1]


def _others(config: MachineConfig, own: Plan, alone: Alone) -> Iterator[tuple[_Rank, Scheme]]:
    """Yields all schemes that fit and are not too dear alone, with their ranks."""
    best = scheme_of(own)
    for scheme in _candidates(own.group, cut_of(config, own.group), own):
        plan = plan_as(config, own.group, scheme, own.upwards)
        if plan is None:
            continue
        found = {} if scheme == best else {scheme: plan}
        # Only if parameters are loaded again can it help that a part of them stays.
        some = replace(scheme, partly=True)
        partly = plan_as(config, own.group, some, own.upwards) if plan.reloaded else None
        if partly is not None:
            found[some] = partly
        for each, plan in found.items():
            if plan.cost.cycles <= DEAREST * own.cost.cycles:
                yield _rank(plan, alone), each


def _rank(plan: Plan, alone: Alone) -> _Rank:
    return alone(plan), plan.cost.dram_bytes, plan.way.words


def _in_order(found: tuple[_Rank, Scheme]) -> tuple[object, ...]:
    return *found[0], *astuple(found[1])


def _candidates(group: Group, cut: Cut | None, own: Plan) -> Iterator[Scheme]:
    counts = _thinned(step_counts(group))
    passes = [n for n in (cut.counts() if cut else ()) if n <= MOST_PASSES]
    for count in sorted({1, own.count, *passes}):
        for held in (False, True) if count > 1 and cut is not None and cut.whole else (False,):
            for steps in counts:
                for pipelined in (False, True) if steps > 1 else (False,):
                    yield Scheme(steps, pipelined, count, held, partly=False, turned=False)


def _thinned(counts: Sequence[int]) -> list[int]:
    kept: list[int] = []
    for count in counts:
        if not kept or count >= THINNED * kept[-1] or count == counts[-1]:
            kept.append(count)
    return kept
