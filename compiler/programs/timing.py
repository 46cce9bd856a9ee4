"""Times programs on the cycle model: the cycles of the whole, and when each group is done.

The last results are kept, for the best program is timed again beside other orders and places of its maps.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence
from functools import lru_cache
from itertools import accumulate, pairwise
from typing import NamedTuple

from compiler.emit.places import APART, Sharing
from compiler.emit.program import forget_listings, machine_segments
from compiler.planning.plan import Plan
from compiler.xgraph.graph import XGraph
from compiler.xgraph.ops import Cpu
from isa.config import MachineConfig
from sim.cycle.model import CycleModel

KEPT = 16
"""The number of programs whose times are kept."""


def program_cycles(
    config: MachineConfig, graph: XGraph, steps: Sequence[Plan | Cpu], sharing: Sharing = APART
) -> int:
    """The cycles of all machine segments of the program that these steps make."""
    return program_ends(config, graph, tuple(steps), sharing).cycles


def spent_by(config: MachineConfig, graph: XGraph, steps: Sequence[Plan | Cpu]) -> tuple[int, list[int]]:
    """The cycles of the program, and those of each group: by how much later it is done than the groups before it.

    Only groups since the last rest of the machine count as before it.
    """
    timed = program_ends(config, graph, tuple(steps), APART)
    return timed.cycles, [after - before for ends in timed.ends for before, after in pairwise((0, *ends.values()))]


class Timed(NamedTuple):
    cycles: int
    """The cycles of all segments together."""
    ends: tuple[dict[str, int], ...]
    """For each segment: the cycle in which each group, by its name, and all groups before it are done."""


_Program = tuple[MachineConfig, XGraph, tuple[Plan | Cpu, ...], Sharing]
_programs: OrderedDict[_Program, Timed] = OrderedDict()


def program_ends(config: MachineConfig, graph: XGraph, steps: tuple[Plan | Cpu, ...], sharing: Sharing) -> Timed:
    """The times of a program. Those of the last ``KEPT`` programs are looked up."""
    program = config, graph, steps, sharing
    _programs[program] = timed = _programs.get(program) or _timed(*program)
    _programs.move_to_end(program)
    if len(_programs) > KEPT:
        _programs.popitem(last=False)
    return timed


@lru_cache(maxsize=1)
def _model(config: MachineConfig) -> CycleModel:
    """The cycle model of a configuration. All programs share it, for it remembers parts that are alike."""
    return CycleModel(config)


def forget_programs() -> None:
    """Frees all kept programs and times, when nothing will be timed for a while."""
    _programs.clear()
    _model.cache_clear()
    forget_listings()


def _timed(config: MachineConfig, graph: XGraph, steps: Sequence[Plan | Cpu], sharing: Sharing = APART) -> Timed:
    model = _model(config)
    total, found = 0, []
    for segment in machine_segments(config, graph, steps, sharing):
        result = model.run_ops([op for op, _ in segment])
        total += result.cycles
        until: dict[str, int] = {}
        # The first end is that of START, and the last that of END.
        for (_, pending), end in zip(segment, result.ends[1:-1], strict=True):
            until[pending.group] = max(until.get(pending.group, 0), end)
        in_order = [name for step in steps if isinstance(step, Plan) and (name := step.group.name) in until]
        found.append(dict(zip(in_order, accumulate((until[name] for name in in_order), max), strict=True)))
    return Timed(total, tuple(found))
