"""The last choice: of several partitions, and of what their stretches make together, the one whose program is fastest.

The search adds up costs of groups; how neighbouring groups overlap shows only in a program. The contenders are the partitions
of all strategies, and of the groups weighed for them the best where bytes count a little and where nothing else does: small
maps whose parameters fill the bus, as in squeeze and excitation, hide all but bytes. Those that cost so much more than the
cheapest that overlap cannot make up for it (``MARGIN``) are left out. ``splice`` puts them together by what groups take behind
each other (``neighbours.py``): once by what is hoped, once by what is feared. Two that promise to be faster than all programs
so far are timed on the cycle model, one on each core (``crew.py``), which tells what their groups really take, so that other
mixtures may look better; and so on until none does (``GAIN``), or as many were timed as there is time for
(``Effort.programs``).
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from itertools import accumulate, pairwise
from math import inf
from time import perf_counter
from typing import NamedTuple

from compiler.crew import Team
from compiler.emit.places import APART, Sharing
from compiler.emit.program import forget_listings, machine_segments
from compiler.neighbours import Neighbours
from compiler.planning.objective import CYCLES, DRAM, LEAN
from compiler.planning.plan import Plan
from compiler.search.best import best, best_of_weighed
from compiler.search.cost import Evaluator, Groups
from compiler.search.partition import partition_by, price_of
from compiler.search.splice import Behind, Path, splice
from compiler.search.strategies import CONTENDERS
from compiler.xgraph.graph import XGraph
from compiler.xgraph.ops import Cpu, Op
from isa.config import MachineConfig
from sim.cycle.model import CycleModel

MARGIN = 1 / 7
"""More than the errors of two sums of costs differ by for partitions of one network, on all networks and presets measured
(docs/performance.md: by 11 % for SqueezeNet on ``zu9``)."""
GAIN = 1 / 1000
"""Of cycles: a program that promises less is not timed. On five networks and three presets 4.5 were timed in the mean;
with 0.2 % a tenth less, for 0.02 % more cycles; with none, and up to eight programs, a tenth more, for 0.03 % less."""

KEPT = 16
"""Programs of which the times are kept."""


def program_cycles(
    config: MachineConfig, graph: XGraph, steps: Sequence[Plan | Cpu], sharing: Sharing = APART
) -> int:
    """Of all machine segments of the program that these steps make."""
    return program_ends(config, graph, tuple(steps), sharing).cycles


def spent_by(config: MachineConfig, graph: XGraph, steps: Sequence[Plan | Cpu]) -> tuple[int, list[int]]:
    """The same, and of each group by how much later it is done than those before it since the machine rested."""
    timed = program_ends(config, graph, tuple(steps), APART)
    return timed.cycles, [after - before for ends in timed.ends for before, after in pairwise((0, *ends.values()))]


class Timed(NamedTuple):
    cycles: int
    """Of all segments together."""
    ends: tuple[dict[str, int], ...]
    """In each segment: when each group is done, by its name, and all before it."""


_Program = tuple[MachineConfig, XGraph, tuple[Plan | Cpu, ...], Sharing]
_programs: OrderedDict[_Program, Timed] = OrderedDict()


def program_ends(config: MachineConfig, graph: XGraph, steps: tuple[Plan | Cpu, ...], sharing: Sharing) -> Timed:
    """The last ones are kept: what wins here is timed again beside other orders and places of its maps."""
    program = config, graph, steps, sharing
    found = _programs.get(program)
    return keep_ends(program, found or _timed(*program))


def keep_ends(program: _Program, timed: Timed) -> Timed:
    """The last that is known."""
    _programs[program] = timed
    _programs.move_to_end(program)
    if len(_programs) > KEPT:
        _programs.popitem(last=False)
    return timed


@lru_cache(maxsize=1)
def _model(config: MachineConfig) -> CycleModel:
    """One for all programs, for it knows those that are alike."""
    return CycleModel(config)


def forget_programs() -> None:
    """Nothing will be timed for a while."""
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
        # START comes before, and END behind them.
        for (_, pending), end in zip(segment, result.ends[1:-1], strict=True):
            until[pending.group] = max(until.get(pending.group, 0), end)
        in_order = [name for step in steps if isinstance(step, Plan) and (name := step.group.name) in until]
        found.append(dict(zip(in_order, accumulate((until[name] for name in in_order), max), strict=True)))
    return Timed(total, tuple(found))


def fastest(evaluator: Evaluator) -> list[Plan | Cpu]:
    """The steps of the fastest program found."""
    graph, effort = evaluator.graph, evaluator.effort
    if not effort.timed:
        neighbours = Neighbours(evaluator)
        return neighbours.steps(neighbours.path(evaluator.whole(partition_by(best, graph, evaluator, CYCLES).groups)))
    neighbours = Neighbours(evaluator)
    near = contenders(evaluator, neighbours)
    if len(near) == 1:
        return neighbours.steps(near[0])

    def program(path: Path) -> _Program:
        return evaluator.config, graph, tuple(neighbours.steps(path)), APART

    timed: dict[Path, int] = {}
    team: Team[Path, Timed] = evaluator.crew.team(lambda path: program_ends(*program(path)))
    seconds = 0.0
    while asked := promising(near, neighbours, timed)[: effort.programs - len(timed)]:
        left = f", about {seconds * (effort.programs - len(timed)):.0f} s left at most" if timed else ""
        evaluator.told(f"search: program {len(timed) + 1} of at most {effort.programs} that are timed{left}")
        since = perf_counter()
        for path, whole in zip(asked, team.each(asked), strict=True):
            keep_ends(program(path), whole)
            neighbours.note(path, whole.ends)
            timed[path] = whole.cycles
        seconds = (perf_counter() - since) / len(asked)
    return neighbours.steps(min(timed.items(), key=lambda found: found[1])[0])


def promising(near: Sequence[Path], neighbours: Neighbours, timed: Mapping[Path, int]) -> list[Path]:
    """At most two that are faster than all programs so far: the best by hope, the best by fear, or else whole partitions."""
    hoped, feared = neighbours.hoped, neighbours.feared
    ways = [(splice(near, hoped), hoped), (splice(near, feared), feared)]
    ways += [(path, hoped) for path in sorted(near, key=lambda path: _told(path, hoped))]
    limit = (1 - GAIN) * min(timed.values(), default=inf)
    return [*dict.fromkeys(path for path, behind in ways if path not in timed and _told(path, behind) < limit)][:2]


def _told(path: Path, behind: Behind) -> int:
    return sum(behind(*pair) for pair in pairwise((0, *path)))


def contenders(evaluator: Evaluator, neighbours: Neighbours) -> list[Path]:
    """Partitions that may be worth a program, the one with the least sum of costs first."""
    graph = evaluator.graph
    found: list[Groups] = []
    for number, (name, strategy) in enumerate(CONTENDERS.items(), 1):
        evaluator.told(f"search: strategy {name}, {number} of {len(CONTENDERS)}")
        found.append(partition_by(strategy, graph, evaluator, CYCLES).groups)
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
