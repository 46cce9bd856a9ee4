"""The last choice: of several partitions the one whose whole program is fastest, by the cycle model.

The search adds up costs of groups; how neighbouring groups overlap shows only in the whole program. The contenders
are the partitions of all strategies, so what is chosen is never slower than theirs, and that of ``best`` where bytes count a
little. Equal ones are timed once, and those that cost so much more than the cheapest that overlap cannot make up for it
(``MARGIN``) are not timed.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from compiler.codegen.objective import CYCLES, LEAN
from compiler.codegen.plan import Plan
from compiler.emit.build import KnownPlans, plans_of
from compiler.emit.program import machine_segments
from compiler.search.best import best
from compiler.search.cost import Evaluator
from compiler.search.partition import partition_by, price_of
from compiler.search.strategies import STRATEGIES
from compiler.xgraph.graph import XGraph
from compiler.xgraph.ops import Cpu, Op
from isa.config import MachineConfig
from sim.cycle.model import CycleModel

MARGIN = 1 / 7
"""Sums of costs were at most 14 % off the whole program's time, on all networks and presets measured (docs/performance.md)."""


def program_cycles(config: MachineConfig, graph: XGraph, steps: Sequence[Plan | Cpu]) -> int:
    """Of all machine segments of the program that these steps make."""
    model = CycleModel(config)
    return sum(model.run_ops(ops).cycles for ops in machine_segments(config, graph, steps))


def fastest(evaluator: Evaluator) -> list[Plan | Cpu]:
    """The steps of the fastest contender."""
    config, graph = evaluator.config, evaluator.graph
    found = [partition_by(strategy, graph, evaluator, CYCLES).groups for strategy in STRATEGIES.values()]
    found.append(best(graph, replace(evaluator, planned_for=CYCLES), LEAN).groups)
    costs = {groups: _sum_of_cycles(evaluator, groups) for groups in found}
    least = min(costs.values())
    known: KnownPlans = {}
    contenders = [
        plans_of(config, graph, groups, known=known) for groups, cost in costs.items() if cost <= (1 + MARGIN) * least
    ]  # fmt: skip
    if len(contenders) == 1:
        return contenders[0]
    return min(contenders, key=lambda steps: program_cycles(config, graph, steps))


def _sum_of_cycles(evaluator: Evaluator, groups: Sequence[Sequence[Op]]) -> int:
    return sum(price_of(evaluator, CYCLES, evaluator.sets.mask(group)) for group in groups)
