"""The last word on order: the steps of a program in the order that needs the least DRAM, as long as that costs no time.

Another order lets other groups overlap. For the objective ``cycles`` the whole program is timed in both orders, and the
given one stays where the other takes more than a hundredth longer.
"""

from __future__ import annotations

from collections.abc import Sequence

from compiler.codegen.objective import CYCLES, Objective
from compiler.codegen.plan import Plan
from compiler.codegen.planner import plan_group
from compiler.emit.steps import memory_tasks
from compiler.memory.order import memory_order
from compiler.timing import program_cycles
from compiler.xgraph.graph import XGraph
from compiler.xgraph.ops import Cpu
from isa.config import MachineConfig

MOST_LOSS = 0.01
"""Of cycles, for less memory."""


def frugal(config: MachineConfig, graph: XGraph, steps: Sequence[Plan | Cpu], objective: Objective) -> list[Plan | Cpu]:
    """The same steps in the order of least memory."""
    moved = in_least_order(config, graph, steps, objective)
    if objective is CYCLES and moved != list(steps):
        limit = (1 + MOST_LOSS) * program_cycles(config, graph, steps)
        if program_cycles(config, graph, moved) > limit:
            return list(steps)
    return moved


def in_least_order(
    config: MachineConfig, graph: XGraph, steps: Sequence[Plan | Cpu], objective: Objective, shared: bool = False
) -> list[Plan | Cpu]:
    """Whatever time it costs. ``shared``: inputs and outputs lie in WORK."""
    tasks = memory_tasks(graph, steps, shared)
    given = range(len(steps))
    order = memory_order(tasks, given)
    if order.peak == tasks.peak(given):
        return list(steps)
    moved: list[Plan | Cpu] = []
    for number, index in enumerate(order.tasks):
        step = steps[index]
        # Neighbours lie at opposite ends of the buffer.
        moved.append(step if isinstance(step, Cpu) else plan_group(config, step.group, objective, upwards=number % 2 == 0))
    return moved
