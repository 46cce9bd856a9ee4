"""The last choice: of several partitions, and of what their stretches make together, the one whose program is fastest.

The search adds up costs of groups; how neighbouring groups overlap shows only in a program. The contenders are the
partitions of all strategies, and that of ``best`` where bytes count a little; those that cost so much more than the cheapest
that overlap cannot make up for it (``MARGIN``) are left out. ``splice`` puts them together by what groups take behind each
other. Its result and the contender that the sum of costs prefers are timed as whole programs.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import replace
from functools import lru_cache

from compiler.codegen.objective import CYCLES, LEAN
from compiler.codegen.plan import Plan
from compiler.codegen.planner import plan_group
from compiler.emit.build import KnownPlans, plans_of
from compiler.emit.grouping import make_group, ordered_groups
from compiler.emit.places import APART, Sharing
from compiler.emit.program import machine_segments
from compiler.fusion.legal import Mask
from compiler.search.best import best
from compiler.search.cost import Evaluator
from compiler.search.partition import partition_by, price_of
from compiler.search.splice import splice
from compiler.search.strategies import STRATEGIES
from compiler.xgraph.graph import XGraph
from compiler.xgraph.ops import Cpu, Op
from isa.config import MachineConfig
from sim.cycle.model import CycleModel

MARGIN = 1 / 7
"""Sums of costs were at most 14 % off the whole program's time, on all networks and presets measured (docs/performance.md)."""
MOST_HIDDEN = 0.05
"""A pair is taken to save at most this part of what the planner says of its second group alone, until it is asked about.
Nine of ten save less. With 0.2, which one of a hundred exceeds, twice as many are asked about, and the choice was the same."""


def program_cycles(
    config: MachineConfig, graph: XGraph, steps: Sequence[Plan | Cpu], sharing: Sharing = APART
) -> int:
    """Of all machine segments of the program that these steps make."""
    return _program_cycles(config, graph, tuple(steps), sharing)


@lru_cache(maxsize=4)
def _program_cycles(config: MachineConfig, graph: XGraph, steps: tuple[Plan | Cpu, ...], sharing: Sharing) -> int:
    """The last ones are kept: what wins here is timed again beside other orders and places of its maps."""
    model = CycleModel(config)
    return sum(model.run_ops(ops).cycles for ops in machine_segments(config, graph, steps, sharing))


def fastest(evaluator: Evaluator) -> list[Plan | Cpu]:
    """The steps of the fastest program found."""
    graph = evaluator.graph
    found = [partition_by(strategy, graph, evaluator, CYCLES).groups for strategy in STRATEGIES.values()]
    found.append(best(graph, replace(evaluator, planned_for=CYCLES), LEAN).groups)
    costs = {groups: _sum_of_cycles(evaluator, groups) for groups in found}
    least = min(costs.values())
    neighbours = _Neighbours(evaluator)
    near = {neighbours.path(groups): cost for groups, cost in costs.items() if cost <= (1 + MARGIN) * least}
    if len(near) == 1:
        return neighbours.steps(*near)
    finalists = dict.fromkeys([splice([*near], neighbours.behind, neighbours.hope), min(near, key=near.__getitem__)])
    return min(map(neighbours.steps, finalists), key=lambda steps: program_cycles(evaluator.config, graph, steps))


class _Neighbours:
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

    def path(self, groups: Sequence[Sequence[Op]]) -> tuple[Mask, ...]:
        """In the order of the program."""
        cpu = ((op,) for op in self.evaluator.graph.ops if isinstance(op, Cpu))
        return tuple(sum(self._bit[op] for op in group) for group in ordered_groups(self.evaluator.graph, [*groups, *cpu]))

    def steps(self, path: Sequence[Mask]) -> list[Plan | Cpu]:
        groups = [self.evaluator.sets.members(mask) for mask in path if mask & self._machine]
        return plans_of(self.evaluator.config, self.evaluator.graph, groups, known=self._known)

    def behind(self, first: Mask, second: Mask) -> int:
        """Cycles that the second step takes behind the first; the machine rests before and during a CPU part.

        Pairs of equal shapes, joined in the same way, take equally long.
        """
        if not second & self._machine:
            return 0
        if not first & self._machine:
            return self._cycles(second)
        return self._cycles(first, second) - self._cycles(first)

    def hope(self, first: Mask, second: Mask) -> int:
        """What it takes alone, by the planner, less what may be hidden under the step before."""
        alone = price_of(self.evaluator, CYCLES, second) if second & self._machine else 0
        return int(alone * (1 - MOST_HIDDEN)) if first else alone

    def _cycles(self, *masks: Mask) -> int:
        """Of groups in a row as a program of their own."""
        shape = self.evaluator.shapes.together(masks)
        if shape not in self._times:
            self._times[shape] = self._timed(masks)
        return self._times[shape]

    def _timed(self, masks: Sequence[Mask]) -> int:
        steps = [self._plan(mask, upwards=number == 0) for number, mask in enumerate(masks)]
        return program_cycles(self.evaluator.config, self.evaluator.graph, steps)

    def _plan(self, mask: Mask, upwards: bool) -> Plan:
        evaluator = self.evaluator
        key = tuple(evaluator.sets.members(mask)), upwards
        if key not in self._known:
            group = make_group(evaluator.config, evaluator.graph, key[0])
            self._known[key] = plan_group(evaluator.config, group, upwards=upwards)
        return self._known[key]


def _sum_of_cycles(evaluator: Evaluator, groups: Sequence[Sequence[Op]]) -> int:
    return sum(price_of(evaluator, CYCLES, evaluator.sets.mask(group)) for group in groups)
