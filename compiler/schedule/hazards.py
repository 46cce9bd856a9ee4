"""True dependences between instructions in program order, from what they read and write."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from compiler.schedule.instruction import GRANULE, Access, Pending, Space
from isa.instructions import Unit

_NEVER = -1


class _Tracker:
    """The last writer and the last reader in each unit, of every granule of one space."""

    def __init__(self, size: int) -> None:
        self.writers: NDArray[np.int32] = np.full((len(Unit), size), _NEVER, np.int32)
        self.readers: NDArray[np.int32] = np.full((len(Unit), size), _NEVER, np.int32)


def dependences(program: Sequence[Pending], sizes: Mapping[Space, int]) -> list[dict[Unit, int]]:
    """For each instruction and each unit: the last instruction of that unit that must be finished first.

    Units finish in order, so the last one stands for all before it. A unit's own instructions
    write in order and read before later ones write: within a unit only read-after-write counts, and not
    even that for the accumulators, which CONV alone uses, in order. A writer that was itself overwritten is
    still reported; whoever overwrote it waited for it, so it costs no token.
    ``sizes`` are in words or bytes. Cost: the granules touched, times the units.
    """
    trackers = _trackers(sizes)
    result: list[dict[Unit, int]] = []
    for index, pending in enumerate(program):
        last = np.full(len(Unit), _NEVER, np.int64)
        own = int(pending.unit)
        for access in _tracked(pending.reads):
            if access.space is not Space.ACCUMULATOR:
                np.maximum(last, _last(trackers[access.space].writers, access), out=last)
        for access in pending.writes:
            tracker = trackers[access.space]
            for table in (tracker.writers, tracker.readers):
                found = _last(table, access)
                found[own] = _NEVER
                np.maximum(last, found, out=last)
        _note(trackers, pending, index)
        result.append({unit: int(last[unit]) for unit in Unit if last[unit] != _NEVER})
    return result


def predecessors(program: Sequence[Pending], sizes: Mapping[Space, int]) -> list[set[int]]:
    """For each instruction those that it must follow in any order that computes the same.

    Any two accesses to one granule keep their order if one of them writes, and also if both are reads of
    one unit; so whoever follows the last access of a unit follows all before it.
    """
    trackers = _trackers(sizes)
    result: list[set[int]] = []
    for index, pending in enumerate(program):
        before: set[int] = set()
        own = int(pending.unit)
        for access in _tracked(pending.reads):
            tracker = trackers[access.space]
            before |= _all(_view(tracker.writers, access))
            before |= _all(_view(tracker.readers, access)[own : own + 1])
        for access in pending.writes:
            tracker = trackers[access.space]
            before |= _all(_view(tracker.writers, access)) | _all(_view(tracker.readers, access))
        _note(trackers, pending, index)
        before.discard(_NEVER)
        result.append(before)
    return result


def _trackers(sizes: Mapping[Space, int]) -> dict[Space, _Tracker]:
    return {space: _Tracker(-(-size // GRANULE[space]) + 1) for space, size in sizes.items()}


def _tracked(accesses: Sequence[Access]) -> list[Access]:
    """Nobody writes constants."""
    return [access for access in accesses if access.space is not Space.CONST]


def _note(trackers: Mapping[Space, _Tracker], pending: Pending, index: int) -> None:
    for access in _tracked(pending.reads):
        _view(trackers[access.space].readers, access)[int(pending.unit)] = index
    for access in pending.writes:
        _view(trackers[access.space].writers, access)[int(pending.unit)] = index


def _all(view: NDArray[np.int32]) -> set[int]:
    """The different values of a view: they come in long runs, so only changes are looked at."""
    flat = view.reshape(-1)
    changes = np.flatnonzero(flat[1:] != flat[:-1])
    return {int(flat[0]), *flat[changes + 1].tolist()}


def _last(table: NDArray[np.int32], access: Access) -> NDArray[np.int64]:
    found: NDArray[np.int64] = _view(table, access).max(axis=(1, 2)).astype(np.int64)
    return found


def _view(table: NDArray[np.int32], access: Access) -> NDArray[np.int32]:
    """The touched granules as units x runs x granules; runs that meet within a granule become one."""
    granule = GRANULE[access.space]
    if access.count == 1 or access.stride < granule or access.stride % granule or access.start % granule:
        span = access.stride * (access.count - 1) + access.length
        count, stride, length = 1, 0, -(-(access.start % granule + span) // granule)
    else:
        count, stride, length = access.count, access.stride // granule, -(-access.length // granule)
    start = access.start // granule
    if start < 0 or start + stride * (count - 1) + length > table.shape[1]:
        raise IndexError(f"{access} lies outside its space of {table.shape[1]} granules")
    unit_step, step = table.strides
    # Made directly: ``as_strided`` takes ten times as long, and there are a hundred thousand views of a large network.
    return np.ndarray((len(table), count, length), np.int32, table, start * step, (unit_step, stride * step, step))
