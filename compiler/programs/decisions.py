"""Applies a schedule to a graph. Names become operations; a decision that cannot be followed is refused with its line."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from difflib import get_close_matches

from compiler.emit.blocked import NONE_BLOCKED, Blocked
from compiler.emit.places import Given
from compiler.fusion.legal import Mask, OpSets
from compiler.layers.fit import FitError
from compiler.planning.grouping import machine_ops, make_group
from compiler.planning.joining import joinable
from compiler.planning.plan_partition import Wanted
from compiler.planning.running_order import needs_of
from compiler.programs.frugal import Arrangement
from compiler.schedule.document import GroupSchedule, Schedule
from compiler.search.decided import DecidedSets
from compiler.xgraph.graph import XGraph
from compiler.xgraph.ops import Cpu, Op
from isa.config import MachineConfig


@dataclass(frozen=True)
class Decisions:
    """The decisions of a schedule for one graph."""

    groups: tuple[tuple[Op, ...], ...]
    """The groups in the order of the schedule, CPU parts among them."""
    wanted: Wanted
    """The decisions about groups on the machine."""
    whole: bool
    """Whether every operation on the machine is in a group."""
    arrangement: Arrangement


def decisions(config: MachineConfig, graph: XGraph, schedule: Schedule) -> Decisions:
    """Returns the decisions of ``schedule``. Refuses them unless every group can run by itself, and one after the other."""
    known: dict[str, Op] = {op.name: op for op in (*machine_ops(graph), *(op for op in graph.ops if isinstance(op, Cpu)))}
    position = {op.name: n for n, op in enumerate(graph.ops)}
    sets = OpSets(graph, joinable(graph, config))
    taken: dict[str, GroupSchedule] = {}
    groups: list[tuple[Op, ...]] = []
    wanted: dict[frozenset[Op], GroupSchedule] = {}
    for group in schedule.groups:
        for name in group.operations:
            if name not in known:
                near = get_close_matches(name, known, 1)
                hint = f"did you mean {near[0]}?" if near else "`tilewright explain` lists them"
                raise group.refused("operations", f"no operation {name!r} in the compiled network; {hint}")
            if name in taken:
                raise group.refused("operations", f"operation {name!r} is also in group {taken[name].name}; name it once")
            taken[name] = group
        ops = tuple(sorted((known[name] for name in group.operations), key=lambda op: position[op.name]))
        groups.append(ops)
        if any(isinstance(op, Cpu) for op in ops):
            _check_cpu(group, ops)
        else:
            _check_group(config, sets, group, ops)
            wanted[frozenset(ops)] = group
    _check_circles(sets, wanted)
    whole = all(op.name in taken for op in sets.ops)
    if schedule.listed:
        missing = next((name for name in known if name not in taken), None)
        if missing is not None:
            what = f"operation {missing!r} is in no group; list it, or leave order out to have it chosen"
            raise schedule.origin.error("order", f'order "listed": {what}')
        _check_order(graph, groups, taken)
    return Decisions(tuple(groups), wanted, whole, _arrangement(config, schedule))


def _arrangement(config: MachineConfig, schedule: Schedule) -> Arrangement:
    if schedule.places is not None and not schedule.listed:
        raise schedule.origin.error("places", 'places: who meets whom depends on the order; expected order = "listed", too')
    given = None if schedule.places is None else Given(tuple(schedule.places.items()), schedule.origin)
    blocked = Blocked(frozenset(schedule.blocked), config.ic_p, schedule.origin) if schedule.blocked else NONE_BLOCKED
    return Arrangement(schedule.listed, bool(schedule.host_in_work), schedule.overlap, given, blocked)


def _check_cpu(group: GroupSchedule, ops: Sequence[Op]) -> None:
    part = next(op for op in ops if isinstance(op, Cpu))
    if len(ops) > 1:
        raise group.refused("operations", f"{part.name} runs on the CPU, alone; give it a group of its own")
    if not group.free:
        raise group.refused("", f"{part.name} runs on the CPU; expected nothing but its name")


def _check_group(config: MachineConfig, sets: OpSets, group: GroupSchedule, ops: Sequence[Op]) -> None:
    why = sets.why_not(sets.mask(ops))
    if why:
        raise group.refused("operations", why)
    try:
        make_group(config, sets.graph, ops)
    except FitError as error:
        raise group.refused("operations", str(error)) from None


def _check_circles(sets: OpSets, wanted: Wanted) -> None:
    masks = {sets.mask([*ops]): group for ops, group in wanted.items()}
    contracted = DecidedSets(sets.graph, sets.joined, [*masks])
    for mask, group in masks.items():
        before = contracted.ancestors[_first(mask)]
        if before & mask:
            others = (at for at in masks if at != mask and before & at and contracted.ancestors[_first(at)] & mask)
            other = masks.get(next(others, 0))
            what = f"waits for group {other.name}, which waits for it" if other else "waits for itself"
            raise group.refused("operations", f"{what}; split one of them")


def _check_order(graph: XGraph, groups: Sequence[Sequence[Op]], by_name: dict[str, GroupSchedule]) -> None:
    for number, needs in enumerate(needs_of(graph, groups)):
        late = next((other for other in sorted(needs) if other > number), None)
        if late is not None:
            own, other = (by_name[groups[n][0].name] for n in (number, late))
            raise own.refused("", f"reads what group {other.name} makes, which is listed behind it; move it up")


def _first(mask: Mask) -> int:
    return (mask & -mask).bit_length() - 1
