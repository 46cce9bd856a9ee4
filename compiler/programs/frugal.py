"""Puts the steps in the order that needs the least DRAM, with outputs over inputs, if that costs no time.

In another order other groups overlap in time. Where maps share bytes, one group waits for another. For the objective ``cycles``
list scheduling says how long whole programs take, or the cycle model where there is time. An order that takes more than a
hundredth longer than the given one is not taken.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from compiler.emit.blocked import NONE_BLOCKED, Blocked
from compiler.emit.places import APART, Given, Sharing, places
from compiler.emit.steps import memory_tasks
from compiler.memory.least_order import ordering_of
from compiler.planning.objective import CYCLES, Objective
from compiler.planning.plan import Plan
from compiler.planning.plan_group import turned
from compiler.programs.timing import program_cycles
from compiler.search.partition import NOTHING_LEFT_OUT, LeftOut
from compiler.tuned import MOST_LOSS
from compiler.xgraph.graph import XGraph
from compiler.xgraph.ops import Cpu
from isa.config import MachineConfig


@dataclass(frozen=True, eq=False)
class Frugal:
    """Steps in the order of execution, which storages share bytes, and the bytes of DRAM that feature maps then take.

    Instances are compared by identity, as plans are, so an instance can be a key.
    """

    steps: list[Plan | Cpu]
    sharing: Sharing
    bytes: int
    left_out: LeftOut = NOTHING_LEFT_OUT
    """What the search that chose the groups left out because of its limits."""


@dataclass(frozen=True)
class Arrangement:
    """The decisions about the order of steps and about shared bytes. None: the compiler decides."""

    listed: bool = False
    """Whether the steps run in the order in which they are given."""
    host: bool = False
    overlap: bool | None = None
    places: Given | None = None
    blocked: Blocked = NONE_BLOCKED


ANY = Arrangement()
Measure = Callable[[Sequence[Frugal]], Iterable[int]]
"""Tells the cycles of each program, one by one: the caller may stop early."""


def frugal(
    config: MachineConfig, graph: XGraph, steps: Sequence[Plan | Cpu], objective: Objective, decided: Arrangement = ANY,
    timed: bool = True, measure: Measure | None = None, order: str = "least",
) -> Frugal:  # fmt: skip
    """Returns the same steps, if possible in an order and with places that need less DRAM.

    ``timed``: whether programs may be timed; if not, nothing is changed that could take longer. ``measure``: tells cycles
    in place of the cycle model. ``order``: the method that finds an order of less memory, a name of ``ORDERINGS``.
    """
    overlaps = (False, True) if decided.overlap is None and not decided.blocked.maps else (bool(decided.overlap),)
    sharings = [Sharing(decided.host, overlap, decided.places, decided.blocked) for overlap in overlaps]
    given = placed(graph, steps, sharings[-1 if decided.places is not None else 0])
    if decided.places is not None:
        return given
    if objective is CYCLES and not timed:
        return given
    ways = [given, *(placed(graph, steps, sharing) for sharing in sharings[1:])]
    moved = given.steps if decided.listed else in_least_order(config, graph, steps, decided.host, order)
    if moved != given.steps:
        ways += [placed(graph, moved, sharing) for sharing in sharings]
    ways = sorted((way for way in ways if way.bytes < given.bytes), key=lambda way: way.bytes)
    if not ways:
        return given
    if objective is not CYCLES:
        return ways[0]
    timing = (program_cycles(config, graph, way.steps, way.sharing) for way in (given, *ways))
    cycles = iter(timing if measure is None else measure([given, *ways]))
    limit = (1 + MOST_LOSS) * next(cycles)
    return next((way for way, taken in zip(ways, cycles, strict=True) if taken <= limit), given)


def placed(graph: XGraph, steps: Sequence[Plan | Cpu], sharing: Sharing = APART) -> Frugal:
    """The steps as they are, with the bytes that their feature maps need."""
    return Frugal([*steps], sharing, sum(places(graph, steps, sharing)[1].values()))


def in_least_order(
    config: MachineConfig, graph: XGraph, steps: Sequence[Plan | Cpu], shared: bool = False, how: str = "least"
) -> list[Plan | Cpu]:
    """The steps in the order of least memory, whatever time it costs.

    ``shared``: inputs and outputs lie in WORK. ``how``: a name of ``ORDERINGS``.
    """
    tasks = memory_tasks(graph, steps, shared)
    given = range(len(steps))
    order = ordering_of(how)(tasks, given)
    if tasks.peak(order) == tasks.peak(given):
        return list(steps)
    moved: list[Plan | Cpu] = []
    for number, index in enumerate(order):
        step = steps[index]
        # Neighbours lie at opposite ends of the buffer.
        if isinstance(step, Plan) and step.upwards != (number % 2 == 0):
            step = turned(config, step)
        moved.append(step)
    return moved
