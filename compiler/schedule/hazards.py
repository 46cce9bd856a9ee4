"""True dependences between instructions, from what they read and write."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from compiler.schedule.instruction import GRANULE, Access, Pending, Space
from isa.instructions import Unit

_NEVER = -1
_WRITER = 0
_READERS = slice(1, 1 + len(Unit))


@dataclass(slots=True)
class Hazards:
    """Earlier instructions that one instruction meets, by their numbers."""

    before: set[int] = field(default_factory=set)
    """It must follow them in any order that computes the same."""
    finished: set[int] = field(default_factory=set)
    """They must be finished when it starts."""


def hazards(program: Sequence[Pending], sizes: Mapping[Space, int]) -> list[Hazards]:
    """Of each instruction in program order. ``sizes`` are in words or bytes.

    Any two accesses to one granule keep their order if one of them writes, and also if both are reads of one unit. So in
    every order that ``before`` allows, a granule has the same last writer, and the same last reader in each unit: what must be
    finished does not depend on the order either.

    Units finish in order, write in order, and read before later instructions of theirs write: within a unit only
    read-after-write counts, and not even that for the accumulators, which CONV alone uses, in order. Whoever writes a granule
    follows its last writer and all who read it since, and stands for them ever after.

    Cost: the granules touched, times the units for those that are written.
    """
    rows = 1 + len(Unit)
    states = {space: np.full((rows, -(-size // GRANULE[space]) + 1), _NEVER, np.int32) for space, size in sizes.items()}
    units = np.array([int(pending.unit) for pending in program])
    found = []
    for index, pending in enumerate(program):
        own = int(pending.unit)
        met = Hazards()
        # Nobody writes constants.
        sources = [access for access in pending.reads if access.space is not Space.CONST]
        reads = [_view(states[access.space], access) for access in sources]
        writes = [_view(states[access.space], access) for access in pending.writes]
        for access, view in zip(sources, reads, strict=True):
            writers = _distinct(view[_WRITER])
            met.before |= writers
            met.before |= _distinct(view[1 + own])
            if access.space is not Space.ACCUMULATOR:
                met.finished |= writers
        for view in writes:
            others = _distinct(view)
            met.before |= others
            met.finished.update(other for other in others if units[other] != own)
        for view in reads:
            view[1 + own] = index
        for view in writes:
            view[_WRITER] = index
            view[_READERS] = _NEVER
        met.before.discard(_NEVER)
        met.finished.discard(_NEVER)
        found.append(met)
    return found


def dependences(program: Sequence[Pending], found: Sequence[Hazards], order: Sequence[int]) -> list[dict[Unit, int]]:
    """For each instruction of the order, and each unit: the place of the last instruction that must be finished first.

    The last of a unit stands for all before it, for units finish in order.
    """
    place = [0] * len(order)
    for position, index in enumerate(order):
        place[index] = position
    result = []
    for index in order:
        last: dict[Unit, int] = {}
        for other in found[index].finished:
            unit, at = program[other].unit, place[other]
            if at > last.get(unit, _NEVER):
                last[unit] = at
        result.append(last)
    return result


def _distinct(view: NDArray[np.int32]) -> set[int]:
    """The different values of a view: they come in long runs, so only changes are looked at."""
    flat = view.reshape(-1)
    first = int(flat[0])
    if len(flat) == 1:
        return {first}
    later = flat[1:]
    changes = (later != flat[:-1]).nonzero()[0]
    return {first, *later[changes].tolist()} if len(changes) else {first}


def _view(table: NDArray[np.int32], access: Access) -> NDArray[np.int32]:
    """The touched granules as rows of the table x runs x granules; runs that meet within a granule become one."""
    granule = GRANULE[access.space]
    if access.count == 1 or access.stride < granule or access.stride % granule or access.start % granule:
        span = access.stride * (access.count - 1) + access.length
        count, stride, length = 1, 0, -(-(access.start % granule + span) // granule)
    else:
        count, stride, length = access.count, access.stride // granule, -(-access.length // granule)
    start = access.start // granule
    if start < 0 or start + stride * (count - 1) + length > table.shape[1]:
        raise IndexError(f"{access} lies outside its space of {table.shape[1]} granules")
    row_step, step = table.strides
    # Made directly: ``as_strided`` takes ten times as long, and there are a hundred thousand views of a large network.
    return np.ndarray((len(table), count, length), np.int32, table, start * step, (row_step, stride * step, step))
