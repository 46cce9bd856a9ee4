"""The last word on memory: the steps in the order that needs the least DRAM, outputs over inputs, if that costs no time.

Another order lets other groups overlap in time, and where maps share bytes one group waits for another. For the objective
``cycles`` whole programs are timed, and what takes more than a hundredth longer than the given one is left.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from compiler.codegen.objective import CYCLES, Objective
from compiler.codegen.plan import Plan
from compiler.codegen.planner import plan_group
from compiler.emit.places import APART, Sharing, places
from compiler.emit.steps import memory_tasks
from compiler.memory.order import memory_order
from compiler.timing import program_cycles
from compiler.xgraph.graph import XGraph
from compiler.xgraph.ops import Cpu
from isa.config import MachineConfig

MOST_LOSS = 0.01
"""Of cycles, for less memory."""


@dataclass(frozen=True)
class Frugal:
    """Steps in the order of execution, what shares bytes, and the bytes of DRAM that feature maps then take."""

    steps: list[Plan | Cpu]
    sharing: Sharing
    bytes: int


def frugal(config: MachineConfig, graph: XGraph, steps: Sequence[Plan | Cpu], objective: Objective) -> Frugal:
    """The same steps; of what needs equally little, what changes less."""
    given = placed(graph, steps)
    moved = in_least_order(config, graph, steps, objective)
    ways = [given, placed(graph, steps, Sharing(overlap=True))]
    if moved != ways[0].steps:
        ways += [placed(graph, moved), placed(graph, moved, Sharing(overlap=True))]
    ways = sorted((way for way in ways if way.bytes < given.bytes), key=lambda way: way.bytes)
    if not ways:
        return given
    if objective is not CYCLES:
        return ways[0]
    limit = (1 + MOST_LOSS) * program_cycles(config, graph, steps)
    return next((way for way in ways if program_cycles(config, graph, way.steps, way.sharing) <= limit), given)


def placed(graph: XGraph, steps: Sequence[Plan | Cpu], sharing: Sharing = APART) -> Frugal:
    """What the steps need as they are."""
    return Frugal([*steps], sharing, sum(places(graph, steps, sharing)[1].values()))


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
        if isinstance(step, Plan):
            step = plan_group(config, step.group, objective, upwards=number % 2 == 0, bands=step.bands)
        moved.append(step)
    return moved
