"""Plans all groups of a partition, which are placed by turns at either end of the buffer."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from compiler.planning.group_schemes import Scheme, plan_as
from compiler.planning.grouping import make_group
from compiler.planning.objective import CYCLES, Objective
from compiler.planning.plan import Plan
from compiler.planning.plan_group import plan_group, turned
from compiler.planning.running_order import ordered_groups
from compiler.schedule.document import FREE, GroupSchedule
from compiler.xgraph.graph import XGraph
from compiler.xgraph.ops import Cpu, Op
from isa.config import MachineConfig

KnownPlans = dict[tuple[tuple[Op, ...], bool], Plan]
"""Plans for one objective, by operations and the end of the buffer that they lie at."""
Wanted = Mapping[frozenset[Op], GroupSchedule]
"""The decisions of a schedule about groups."""
NOTHING: Wanted = {}


def plans_of(
    config: MachineConfig, graph: XGraph, partition: Sequence[Sequence[Op]], objective: Objective = CYCLES,
    known: KnownPlans | None = None, wanted: Wanted = NOTHING, listed: bool = False,
    bands: int = 1,
) -> list[Plan | Cpu]:  # fmt: skip
    """The plans and CPU parts in the order of execution. Neighbouring groups lie at opposite ends of the buffer.

    ``known``: plans of the same graph; new ones are added. ``wanted``: the decisions about some groups. ``listed``: the
    partition is in order, CPU parts among its groups. ``bands``: as for ``plan_group``.
    """
    known = {} if known is None else known
    steps: list[Plan | Cpu] = []
    named = {op for ops in partition for op in ops}
    cpu = [op for op in graph.ops if isinstance(op, Cpu) and op not in named]
    ordered = [tuple(ops) for ops in partition] if listed else ordered_groups(graph, [*partition, *((op,) for op in cpu)])
    for number, ops in enumerate(ordered):
        first = ops[0]
        if isinstance(first, Cpu):
            steps.append(first)
            continue
        steps.append(plan_at(config, graph, ops, number % 2 == 0, known, objective, wanted, bands))
    return steps


def plan_at(
    config: MachineConfig, graph: XGraph, ops: tuple[Op, ...], upwards: bool, known: KnownPlans,
    objective: Objective = CYCLES, wanted: Wanted = NOTHING, bands: int = 1, scheme: Scheme | None = None,
) -> Plan:  # fmt: skip
    """The plan of one group, placed from the bottom of the buffer or from its top. It comes from ``known``, or is added to it.

    ``scheme``: that of the best plan for cycles of a group of this shape, so that it need not be looked for again.
    """
    if (ops, upwards) not in known:
        other = known.get((ops, not upwards))
        if other is not None:
            known[ops, upwards] = turned(config, other)
        else:
            group = make_group(config, graph, ops)
            decided = wanted.get(frozenset(ops), FREE)
            again = plan_as(config, group, scheme, upwards) if scheme is not None and decided is FREE else None
            if again is None:
                known[ops, upwards] = plan_group(config, group, objective, upwards=upwards, wanted=decided, bands=bands)
            else:
                known[ops, upwards] = replace(again, wanted=FREE)
    return known[ops, upwards]
