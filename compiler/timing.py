"""The last choice: of several partitions, and of what their stretches make together, the one whose program is fastest.

The search adds up costs of groups; how neighbouring groups overlap shows only in a program. The contenders are the
partitions of all strategies, and those of ``best`` where bytes count a little and where nothing else does: small maps whose
parameters fill the bus, as in squeeze and excitation, hide all but bytes. Those that cost so much more than the cheapest
that overlap cannot make up for it (``MARGIN``) are left out. ``splice`` puts them together by what groups take behind each
other. Its result is timed as a whole program, which tells more exactly what its groups take, so that another mixture may
look better and is timed, too (``Effort.rounds``: on DenseNet-121 and GoogLeNet more than three found nothing that is better by
more than 3 in 100 000); and so is the contender that the sum of costs prefers, unless what its pairs tell leaves it no hope.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from itertools import accumulate, groupby, pairwise
from time import perf_counter
from typing import NamedTuple

from compiler.emit.places import APART, Sharing
from compiler.emit.program import forget_listings, machine_segments
from compiler.fusion.legal import Mask
from compiler.planning.grouping import make_group, ordered_groups
from compiler.planning.objective import CYCLES, DRAM, LEAN
from compiler.planning.plan import Plan
from compiler.planning.planner import plan_group
from compiler.planning.plans import KnownPlans, plans_of
from compiler.schedule.document import FREE
from compiler.search.best import best
from compiler.search.cost import Evaluator
from compiler.search.partition import partition_by, price_of
from compiler.search.splice import Path, splice
from compiler.search.strategies import CONTENDERS
from compiler.xgraph.graph import XGraph
from compiler.xgraph.ops import Cpu, Op
from isa.config import MachineConfig
from sim.cycle.model import CycleModel

MARGIN = 1 / 7
"""Sums of costs were at most 14 % off the whole program's time, on all networks and presets measured (docs/performance.md)."""
MOST_HIDDEN = 0.05
"""A pair is taken to save at most this part of what the planner says of its second group alone, until it is asked about
(and what a buffer full of weights takes to load, where the second group's units wait for that).
Nine of ten save less. With 0.2, which one of a hundred exceeds, twice as many are asked about, and the choice was the same."""

NEAR = 0.03
"""By so much what pairs tell of a program may be above what it takes: on five networks and three presets 2.9 % at most."""


def program_cycles(
    config: MachineConfig, graph: XGraph, steps: Sequence[Plan | Cpu], sharing: Sharing = APART
) -> int:
    """Of all machine segments of the program that these steps make."""
    return _program_timed(config, graph, tuple(steps), sharing).cycles


def spent_by(config: MachineConfig, graph: XGraph, steps: Sequence[Plan | Cpu]) -> tuple[int, list[int]]:
    """The same, and of each group by how much later it is done than those before it since the machine rested."""
    timed = _program_timed(config, graph, tuple(steps), APART)
    return timed.cycles, [after - before for ends in timed.ends for before, after in pairwise((0, *ends.values()))]


class _Timed(NamedTuple):
    cycles: int
    """Of all segments together."""
    ends: tuple[dict[str, int], ...]
    """In each segment: when each group is done, by its name, and all before it."""


@lru_cache(maxsize=4)
def _program_timed(config: MachineConfig, graph: XGraph, steps: tuple[Plan | Cpu, ...], sharing: Sharing) -> _Timed:
    """The last ones are kept: what wins here is timed again beside other orders and places of its maps."""
    return _timed(config, graph, steps, sharing)


@lru_cache(maxsize=1)
def _model(config: MachineConfig) -> CycleModel:
    """One for all programs, for it knows those that are alike."""
    return CycleModel(config)


def forget_programs() -> None:
    """Nothing will be timed for a while."""
    _program_timed.cache_clear()
    _model.cache_clear()
    forget_listings()


def _timed(config: MachineConfig, graph: XGraph, steps: Sequence[Plan | Cpu], sharing: Sharing = APART) -> _Timed:
    model = _model(config)
    total, found = 0, []
    for segment in machine_segments(config, graph, steps, sharing):
        result = model.run_ops([op for op, _ in segment])
        total += result.cycles
        until: dict[str, int] = {}
        # START comes before, and END behind them.
        for (_, pending), end in zip(segment, result.ends[1:-1], strict=True):
            until[pending.group] = max(until.get(pending.group, 0), end)
        in_order = [name for step in steps if isinstance(step, Plan) and (name := step.group.name) in until]
        found.append(dict(zip(in_order, accumulate((until[name] for name in in_order), max), strict=True)))
    return _Timed(total, tuple(found))


def fastest(evaluator: Evaluator) -> list[Plan | Cpu]:
    """The steps of the fastest program found."""
    graph, effort = evaluator.graph, evaluator.effort
    if not effort.timed:
        neighbours = Neighbours(evaluator)
        return neighbours.steps(neighbours.path(evaluator.whole(partition_by(best, graph, evaluator, CYCLES).groups)))
    found = []
    for number, (name, strategy) in enumerate(CONTENDERS.items(), 1):
        evaluator.told(f"search: strategy {name}, {number} of {len(CONTENDERS)}")
        found.append(partition_by(strategy, graph, evaluator, CYCLES).groups)
    for objective, part in ((LEAN, "a little"), (DRAM, "alone")):
        evaluator.told(f"search: strategy best, where bytes count {part}")
        found.append(best(graph, replace(evaluator, planned_for=CYCLES), objective).groups)
    found = [evaluator.whole(groups) for groups in found]
    costs = {groups: _sum_of_cycles(evaluator, groups) for groups in found}
    least = min(costs.values())
    neighbours = Neighbours(evaluator)
    near = {neighbours.path(groups): cost for groups, cost in costs.items() if cost <= (1 + MARGIN) * least}
    preferred = min(near, key=near.__getitem__)
    if len(near) == 1:
        return neighbours.steps(preferred)
    whole: dict[Path, int] = {}
    seconds = 0.0
    for number in range(effort.rounds):
        left = f", about {seconds * (effort.rounds + 1 - number):.0f} s left at most" if number else ""
        evaluator.told(f"search: program {number + 1} of at most {effort.rounds + 1} that are timed{left}")
        since = perf_counter()
        path = splice([*near], neighbours.behind, neighbours.hope)
        if path in whole:
            break
        whole[path] = neighbours.whole(path)
        seconds = perf_counter() - since
    if preferred not in whole and neighbours.told(preferred) <= (1 + NEAR) * min(whole.values()):
        whole[preferred] = neighbours.whole(preferred)
    _, chosen = min((cycles, number) for number, cycles in enumerate(whole.values()))
    return neighbours.steps([*whole][chosen])


class Neighbours:
    """Steps of programs as masks, CPU parts behind the machine's operations, and how long two of them take together."""

    def __init__(self, evaluator: Evaluator) -> None:
        self.evaluator = evaluator
        self._known: KnownPlans = {}
        self._times: dict[Hashable, int] = {}
        ops = evaluator.sets.ops
        self._bit: dict[Op, Mask] = {op: 1 << n for n, op in enumerate(ops)}
        cpu = [op for op in evaluator.graph.ops if isinstance(op, Cpu)]
        self._bit |= {op: 1 << n for n, op in enumerate(cpu, len(ops))}
        self._machine = (1 << len(ops)) - 1
        config = evaluator.config
        self._ahead = config.weight_depth * config.buffer_dram_bytes("WEIGHT") // config.axi_bytes
        """Cycles of loading a buffer full of weights."""

    def path(self, groups: Sequence[Sequence[Op]]) -> tuple[Mask, ...]:
        """In the order of the program."""
        cpu = ((op,) for op in self.evaluator.graph.ops if isinstance(op, Cpu))
        return tuple(sum(self._bit[op] for op in group) for group in ordered_groups(self.evaluator.graph, [*groups, *cpu]))

    def steps(self, path: Sequence[Mask]) -> list[Plan | Cpu]:
        groups = [self.evaluator.sets.members(mask) for mask in path if mask & self._machine]
        return plans_of(
            self.evaluator.config, self.evaluator.graph, groups, known=self._known, wanted=self.evaluator.wanted
        )  # fmt: skip

    def behind(self, stretch: Sequence[Mask]) -> list[int]:
        """Cycles that each step but the first takes behind the one before it; the machine rests before and during a CPU part.

        Pairs of equal shapes, joined in the same way, take equally long. Those that were not timed yet are timed as they
        stand together in the stretch: as many as there are in one program.
        """
        machine = [mask & self._machine for mask in stretch]
        run: list[Mask] = []
        asked: set[Hashable] = set()
        for pair in pairwise(machine):
            shape = self._shape(pair)
            if pair[1] and shape not in self._times and shape not in asked:
                asked.add(shape)
                run += pair if not run else pair[1:]
            elif run:
                self._time(run)
                run = []
        if run:
            self._time(run)
        return [self._times[self._shape(pair)] if pair[1] else 0 for pair in pairwise(machine)]

    def hope(self, first: Mask, second: Mask) -> int:
        """What it takes alone, by the planner, less what may be hidden under the step before.

        That is a small part, or as many weights as have room, if all units wait for them.
        """
        alone = price_of(self.evaluator, CYCLES, second) if second & self._machine else 0
        if not first or not alone:
            return alone
        waits = alone - max(self.evaluator.group(second).beats.values())
        return int(min(alone * (1 - MOST_HIDDEN), alone - min(waits, self._ahead)))

    def _shape(self, pair: tuple[Mask, Mask]) -> Hashable:
        """The first is 0 where the machine rests before."""
        return self.evaluator.shapes.together([mask for mask in pair if mask])

    def told(self, path: Sequence[Mask]) -> int:
        """Cycles of the program by what is known of its pairs, and hoped of the others."""
        pairs = pairwise(mask & self._machine for mask in (0, *path))
        return sum(self._times.get(self._shape(pair), self.hope(*pair)) for pair in pairs if pair[1])

    def whole(self, path: Sequence[Mask]) -> int:
        """Cycles of the program; what its groups take behind each other is known from it ever after."""
        timed = _program_timed(self.evaluator.config, self.evaluator.graph, tuple(self.steps(path)), APART)
        machine = [mask & self._machine for mask in path]
        stretches = [[0, *masks] for on_machine, masks in groupby(machine, bool) if on_machine]
        for run, ends in zip(stretches, timed.ends, strict=True):
            self._note(run, ends)
        return timed.cycles

    def _time(self, run: Sequence[Mask]) -> None:
        """The pairs of a row, in a program of all of them."""
        evaluator = self.evaluator
        plans = [self._plan(mask, upwards=number % 2 == 0) for number, mask in enumerate(mask for mask in run if mask)]
        self._note(run, *_timed(evaluator.config, evaluator.graph, plans).ends)

    def _note(self, run: Sequence[Mask], ends: Mapping[str, int]) -> None:
        """How much later the second of each pair ended than the first."""
        spent = [*([] if run[0] else [0]), *ends.values()]
        for pair, (before, after) in zip(pairwise(run), pairwise(spent), strict=True):
            self._times[self._shape(pair)] = after - before

    def _plan(self, mask: Mask, upwards: bool) -> Plan:
        evaluator = self.evaluator
        key = tuple(evaluator.sets.members(mask)), upwards
        if key not in self._known:
            group = make_group(evaluator.config, evaluator.graph, key[0])
            wanted = evaluator.wanted.get(frozenset(key[0]), FREE)
            self._known[key] = plan_group(evaluator.config, group, upwards=upwards, wanted=wanted)
        return self._known[key]


def _sum_of_cycles(evaluator: Evaluator, groups: Sequence[Sequence[Op]]) -> int:
    return sum(price_of(evaluator, CYCLES, evaluator.sets.mask(group)) for group in groups)
