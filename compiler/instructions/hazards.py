"""Finds the dependences between instructions from what they read and write."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from compiler.instructions.pending import GRANULE, Access, Pending, Space
from isa.instructions import Unit

_NEVER = -1
_WRITER = 0
_READERS = slice(1, None)
FEW = 48
"""The most granules whose values are put into a set directly. In longer views, changes are looked for first."""


@dataclass(slots=True)
class Hazards:
    """Earlier instructions that one instruction meets, by their numbers."""

    before: set[int] = field(default_factory=set)
    """The instructions that it must follow in any order that computes the same."""
    finished: set[int] = field(default_factory=set)
    """The instructions that must be finished when it starts."""


def hazards(program: Sequence[Pending], sizes: Mapping[Space, int]) -> list[Hazards]:
    """The hazards of each instruction, in program order. ``sizes``: words or bytes of each memory.

    Two accesses to one granule keep their order if one of them writes, or if both are reads of one unit. So in every order that
    ``before`` allows, a granule has the same last writer, and the same last reader in each unit. Therefore ``finished`` does
    not depend on the order either.

    Units finish in order, write in order, and read before later instructions of theirs write. So within a unit only
    read-after-write counts. It does not count for the accumulators, which CONV alone uses, in order. An instruction that writes
    a granule follows its last writer and all readers since, so later instructions need only follow that one.

    The cost is the number of granules touched; for those that are written, times the number of units.
    """
    rows = _rows(program)
    states = {
        space: np.full((1 + len(rows.get(space, ())), -(-size // GRANULE[space]) + 1), _NEVER, np.int32)
        for space, size in sizes.items()
    }
    units = [int(pending.unit) for pending in program]
    found = []
    for index, pending in enumerate(program):
        own = units[index]
        before: set[int] = set()
        finished: set[int] = set()
        read = []
        for access in pending.reads:
            space = access.space
            # No instruction writes constants.
            if space is Space.CONST:
                continue
            view = _view(states[space], access)
            last = view[rows[space][own]]
            read.append(last)
            writers = _distinct(view[_WRITER])
            before |= writers
            before |= _distinct(last)
            if space is not Space.ACCUMULATOR:
                finished |= writers
        written = [_view(states[access.space], access) for access in pending.writes]
        for view in written:
            others = _distinct(view)
            before |= others
            finished.update([other for other in others if units[other] != own])
        for last in read:
            last[:] = index
        for view in written:
            view[_WRITER] = index
            view[_READERS] = _NEVER
        before.discard(_NEVER)
        finished.discard(_NEVER)
        found.append(Hazards(before, finished))
    return found


def _rows(program: Sequence[Pending]) -> dict[Space, dict[int, int]]:
    """For each space and each unit that reads it: the row of the space's table for last readers. Row 0 is for last writers."""
    rows: dict[Space, dict[int, int]] = {}
    for unit, space in dict.fromkeys((pending.unit, access.space) for pending in program for access in pending.reads):
        readers = rows.setdefault(space, {})
        readers[int(unit)] = 1 + len(readers)
    return rows


def dependences(program: Sequence[Pending], found: Sequence[Hazards], order: Sequence[int]) -> list[dict[Unit, int]]:
    """For each instruction of the order, and each unit: the place of the last instruction that must be finished first.

    Units finish in order, so the last one of a unit stands for all before it.
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
    """The different values of a view. They come in long runs, so only changes are looked at."""
    flat = view.ravel()
    if len(flat) <= FEW:
        return set(flat.tolist())
    later = flat[1:]
    changes = (later != flat[:-1]).nonzero()[0]
    return {flat.item(0), *later[changes].tolist()} if len(changes) else {flat.item(0)}


def _view(table: NDArray[np.int32], access: Access) -> NDArray[np.int32]:
    """The touched granules as rows of the table x granules, or x runs x granules. Runs that meet in a granule become one."""
    granule = GRANULE[access.space]
    count, stride, length = access.count, access.stride, access.length
    if granule > 1:
        if count == 1 or stride < granule or stride % granule or access.start % granule:
            span = stride * (count - 1) + length
            count, stride, length = 1, 0, -(-(access.start % granule + span) // granule)
        else:
            stride, length = stride // granule, -(-length // granule)
    elif count == 1 or stride < 1:
        count, stride, length = 1, 0, stride * (count - 1) + length
    start = access.start // granule
    if start < 0 or start + stride * (count - 1) + length > table.shape[1]:
        raise IndexError(f"{access} lies outside its space of {table.shape[1]} granules")
    if count == 1:
        return table[:, start : start + length]
    row_step, step = table.strides
    # ``as_strided`` takes ten times as long, and a large network has a hundred thousand views.
    return np.ndarray((len(table), count, length), np.int32, table, start * step, (row_step, stride * step, step))
