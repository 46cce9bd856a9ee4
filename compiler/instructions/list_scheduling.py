"""Orders a program by list scheduling. An instruction may overtake others of its unit that cannot start yet."""

from __future__ import annotations

import bisect
from collections.abc import Sequence
from typing import NamedTuple

from compiler.instructions.latency import UNTIL_TAKEN
from compiler.instructions.pending import Pending
from compiler.tuned import WINDOW
from isa.instructions import Unit

_MOVERS = (Unit.LOAD, Unit.SAVE)
"""Units whose instructions never read what another one of the unit wrote. They follow each other at once, in order."""
_NEVER = 1 << 62


class Order(NamedTuple):
    places: list[int]
    """The numbers of the instructions in the program, in the order of their estimated starts."""
    cycles: int
    """The cycle in which all units are done, by the same estimate."""


class _Lane:
    """The remaining instructions of one unit."""

    def __init__(self, indices: list[int]) -> None:
        self.indices = indices
        """The instructions of the unit, in the order in which they should come."""
        self.free = 0
        self.ready: list[int] = []
        """The places in ``indices``, in order, of those whose predecessors are all scheduled."""
        self.first = 0
        """The first place in ``indices`` of one that is not scheduled."""


def start_order(program: Sequence[Pending], before: Sequence[set[int]]) -> Order:
    """Puts instructions in the order of their estimated starts. ``before`` is from ``hazards.hazards``.

    It repeatedly takes, over all units, the instruction that can start first (then the first in program order) among those
    whose predecessors are taken. Every predecessor is taken earlier, so the order is again a sequential program. So loads of a
    later group fill the time in which DRAM would rest. Where a group waits for its own data, the next group begins.

    Loads come in the order in which they are needed, parameters first. So CONV begins with the first rows of a map, not when
    all of them are there, and POOL beside it. No load waits for one that comes later, for nothing is needed before what it
    waits for.
    """
    due = _due(program, before)
    lanes = {unit: _Lane([i for i, p in enumerate(program) if p.unit is unit]) for unit in Unit}
    lanes[Unit.LOAD].indices.sort(key=lambda index: (due[index], program[index].name != "LOADP"))
    place = [0] * len(program)
    for lane in lanes.values():
        for number, index in enumerate(lane.indices):
            place[index] = number
    waiting = [len(b) for b in before]
    after: list[list[int]] = [[] for _ in program]
    for index, givers in enumerate(before):
        for giver in givers:
            after[giver].append(index)
    earliest = [0] * len(program)
    done = [False] * len(program)
    for index, count in enumerate(waiting):
        if count == 0:
            bisect.insort(lanes[program[index].unit].ready, place[index])
    best = [_candidate(lanes[unit], earliest, program) for unit in Unit]
    order: list[int] = []
    while len(order) < len(program):
        start, index = min(filter(None, best))
        unit = program[index].unit
        lane = lanes[unit]
        lane.ready.remove(place[index])
        lane.free = start + max(1, program[index].cycles)
        order.append(index)
        done[index] = True
        while lane.first < len(lane.indices) and done[lane.indices[lane.first]]:
            lane.first += 1
        changed = {unit}
        end = lane.free + UNTIL_TAKEN[unit]
        for taker in after[index]:
            then = lane.free if unit in _MOVERS and program[taker].unit is unit else end
            if then > earliest[taker]:
                earliest[taker] = then
            waiting[taker] -= 1
            if waiting[taker] == 0:
                bisect.insort(lanes[program[taker].unit].ready, place[taker])
                changed.add(program[taker].unit)
        for name in changed:
            best[name] = _candidate(lanes[name], earliest, program)
    return Order(order, max(lane.free for lane in lanes.values()))


def _candidate(lane: _Lane, earliest: Sequence[int], program: Sequence[Pending]) -> tuple[int, int] | None:
    """The start and the index of the instruction that the unit would take next. None: no instruction of the unit is ready.

    It is the first that can start. One that comes later in the program overtakes it only if it is over by then. Otherwise
    parameters of a later group, which wait for nothing, would hold up the maps of this group.
    """
    if not lane.ready:
        return None
    limit = lane.first + WINDOW
    found: tuple[int, int] | None = None
    for place in lane.ready:
        if place > limit:
            break
        index = lane.indices[place]
        start = max(lane.free, earliest[index])
        if found is None or start + max(1, program[index].cycles) <= found[0]:
            found = start, index
        if found[0] == lane.free:
            break
    return found


def _due(program: Sequence[Pending], before: Sequence[set[int]]) -> list[int]:
    """For each instruction: when the first that needs it starts, if units keep program order and loads take no time."""
    free = dict.fromkeys(Unit, 0)
    ends = [0] * len(program)
    due = [_NEVER] * len(program)
    loads = []
    for index, pending in enumerate(program):
        unit = pending.unit
        start = free[unit] if unit is not Unit.LOAD else 0
        for giver in before[index]:
            if ends[giver] > start:
                start = ends[giver]
        if unit is Unit.LOAD:
            ends[index] = start
            loads.append(index)
        else:
            for giver in before[index]:
                if start < due[giver]:
                    due[giver] = start
            free[unit] = start + max(1, pending.cycles)
            ends[index] = free[unit] + UNTIL_TAKEN[unit]
    for index in reversed(loads):
        for giver in before[index]:
            if due[index] < due[giver]:
                due[giver] = due[index]
    return due
