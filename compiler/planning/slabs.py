"""Words that several rings share: a row lies where rows of another ring are not in use any more (Deep Fusion, figures 4 and 5).

Rings of the same length, pitch and distance between planes lie in one *slab*. Row ``y`` of each lies at row ``y + shift`` of
the slab, modulo its length. Maps that gain equally many rows in a step move around the slab together, so a row that one of them
leaves can be used by another in every step. Slabs whose rings keep nothing from step to step may take each other's place.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from compiler.layers.placed import Placed
from compiler.memory.arena import arrange
from compiler.memory.blocks import Block
from compiler.planning.presence import Presence
from compiler.tuned import SLAB_CHOICES as EFFORT

Mask = int
"""A set of rows of a slab, one bit each."""


class Meeting(NamedTuple):
    """Shifts of one ring relative to another at which both use the same row at some moment. Each shift is a bit of ``shifts``;
    bit 0 stands for the shift ``lowest``."""

    lowest: int
    shifts: int


@dataclass(frozen=True, eq=False)
class Tenant:
    """A ring that needs a place."""

    presence: Presence
    ring: int
    """The fewest rows that the ring may have."""
    pitch: int
    planes: int


@dataclass(frozen=True)
class Seat:
    """The seat of one tenant in its slab."""

    plane: int
    shift: int


@dataclass(frozen=True)
class Slab:
    """A number of rows of words in a number of planes, and the seats in them."""

    rows: int
    pitch: int
    planes: int
    seats: dict[int, Seat]

    @property
    def words(self) -> int:
        return self.rows * self.pitch * self.planes


@dataclass(frozen=True)
class Berth:
    """The place of a tenant on chip.

    ``word`` is its first word, ``rows`` and ``pitch`` are its slab's, and its row 0 lies at row ``shift`` of the slab.
    """

    word: int
    rows: int
    pitch: int
    shift: int


class Slabs:
    """Finds places for the rings of one pass."""

    def __init__(self, tenants: Sequence[Tenant]) -> None:
        self.tenants = tenants
        self._apart: dict[tuple[int, int], Meeting] = {}
        self._masks: dict[tuple[int, int, int], Mask] = {}
        self._fewest: dict[tuple[int, int], int] = {}
        self._seats: dict[tuple[tuple[int, ...], int], dict[int, Seat] | None] = {}
        self._slab_of: dict[tuple[int, ...], Slab | None] = {}
        self._blocks: dict[tuple[int, ...], Block] = {}

    def least(self) -> int:
        """The most words that are in use at one moment: a lower bound of the words that any places take."""
        rows = [(each.presence.end - each.presence.begin) * (each.pitch * each.planes) for each in self.tenants]
        return int(np.sum(rows, axis=0).max())

    def berths(self, words: int, upwards: bool = True) -> list[Berth] | None:
        """The berth of each tenant within ``words`` words. None: none are found.

        Berths are packed from the first word (``upwards``) or from the last one.
        """
        for order in self._orders():
            slabs = self._slabs(order)
            found = arrange([self._block(slab) for slab in slabs], EFFORT)
            if found.total <= words:
                ends = [offset + slab.words for slab, offset in zip(slabs, found.offsets, strict=True)]
                return self._berths(slabs, found.offsets if upwards else [words - end for end in ends])
        return None

    def _orders(self) -> Iterator[list[int]]:
        """The orders in which tenants are placed: by size, the largest first; then with the tenants first that keep rows from
        step to step, since the others must lie around these; then by the layers that touch them."""
        sizes = [each.ring * each.pitch * each.planes for each in self.tenants]
        numbers = range(len(sizes))
        yield sorted(numbers, key=lambda n: (-sizes[n], n))
        yield sorted(numbers, key=lambda n: (not self.tenants[n].presence.carried, -sizes[n], n))
        yield sorted(numbers, key=lambda n: (self.tenants[n].presence.first, self.tenants[n].presence.last, n))

    def _slabs(self, order: Sequence[int]) -> list[Slab]:
        """Puts one tenant after the other into the slab where it adds the fewest words, or into a new slab."""
        slabs: list[Slab] = []
        live = [0] * (max(each.presence.last for each in self.tenants) + 1)
        """Words of all slabs in use at each time of a step."""
        words = 0
        for number in order:
            best: tuple[tuple[int, int], int, Slab, list[int]] | None = None
            least = max(live), words  # No place takes less, and of equal ones the first is taken.
            for place in range(len(slabs) + 1):
                if best is not None and best[0] == least:
                    break
                old = slabs[place] if place < len(slabs) else None
                joined = self._joined((*(old.seats if old else ()), number))
                if joined is not None:
                    then = self._in_use(live, old, joined)
                    rank = max(then), words + joined.words - (old.words if old else 0)
                    if best is None or rank < best[0]:
                        best = rank, place, joined, then
            assert best is not None
            (_, words), place, joined, live = best
            slabs[place : place + 1] = [joined]
        return slabs

    def _in_use(self, live: Sequence[int], old: Slab | None, new: Slab) -> list[int]:
        """The words in use at each time of a step, if the new slab takes the place of the old one."""
        found = [*live]
        for slab, words in ((old, -old.words if old else 0), (new, new.words)):
            if slab is not None:
                block = self._block(slab)
                for time in range(block.begin, block.end):
                    found[time] += words
        return found

    def _joined(self, members: tuple[int, ...]) -> Slab | None:
        """The smallest slab for these tenants. None: the last of them saves no words by sharing with the others."""
        if members not in self._slab_of:
            self._slab_of[members] = self._smallest(members)
        return self._slab_of[members]

    def _smallest(self, members: tuple[int, ...]) -> Slab | None:
        own = [self.tenants[number] for number in members]
        pitch = max(each.pitch for each in own)
        best: Slab | None = None
        planes = max(each.planes for each in own)
        apart = sum(each.ring * each.pitch * each.planes for each in own)
        if len(own) > 1 and max(each.ring for each in own) * pitch * planes >= apart:
            return None
        fewest = [self._least_rows(members[-1], other) for other in members[:-1]]
        start = max(max(each.ring for each in own), min(fewest, default=0))
        for rows in range(start, sum(each.ring for each in own) + 1):
            if len(own) > 1 and rows * pitch * planes >= (apart if best is None else best.words):
                break
            seats = self._seated(members, rows)
            if seats is None:
                continue
            found = Slab(rows, pitch, max(seats[n].plane + self.tenants[n].planes for n in members), seats)
            if best is None or found.words < best.words:
                best = found
        return best

    def _seated(self, members: tuple[int, ...], rows: int) -> dict[int, Seat] | None:
        """Seats for these tenants in a slab of ``rows`` rows; None: the last of them finds no seat.

        The last tenant goes to the lowest plane where some shift keeps it clear of the others. The others keep the seats that
        they have without it.
        """
        key = members, rows
        if key not in self._seats:
            before = self._seated(members[:-1], rows) if len(members) > 1 else {}
            seat = None if before is None else self._seat(members[-1], before, rows)
            self._seats[key] = None if before is None or seat is None else {**before, members[-1]: seat}
        return self._seats[key]

    def _seat(self, number: int, seats: Mapping[int, Seat], rows: int) -> Seat | None:
        """The seat on the lowest plane that keeps clear of these seats."""
        full = (1 << rows) - 1
        planes = self.tenants[number].planes
        others = [(seat.plane, seat.plane + self.tenants[n].planes, n, seat.shift) for n, seat in seats.items()]
        for first in sorted({0, *(end for _, end, _, _ in others)}):
            taken = 0
            for begin, end, other, shift in others:
                if first < end and begin < first + planes:
                    mask = self._mask(number, other, rows) << shift
                    taken |= (mask | mask >> rows) & full
            if taken != full:
                lowest_free = ~taken & taken + 1
                return Seat(first, lowest_free.bit_length() - 1)
        return None

    def _least_rows(self, number: int, other: int) -> int:
        """The fewest rows of a slab in which both tenants may lie in one plane. If there is no such slab: the rows of both."""
        key = min(number, other), max(number, other)
        if key not in self._fewest:
            first, second = (self.tenants[n] for n in key)
            both = first.ring + second.ring
            most = first.presence.end - first.presence.begin + second.presence.end - second.presence.begin
            start = max(first.ring, second.ring, int(most.max()))
            free = (rows for rows in range(start, both) if self._mask(*key, rows) != (1 << rows) - 1)
            self._fewest[key] = next(free, both)
        return self._fewest[key]

    def _mask(self, number: int, other: int, rows: int) -> Mask:
        """The shifts of a tenant, relative to the other's, at which both meet in a slab of ``rows`` rows."""
        key = number, other, rows
        if key not in self._masks:
            self._masks[key] = _taken(self._meeting(number, other), rows)
        return self._masks[key]

    def _meeting(self, number: int, other: int) -> Meeting:
        key = number, other
        if key not in self._apart:
            self._apart[key] = _meeting(self.tenants[number].presence, self.tenants[other].presence)
        return self._apart[key]

    def _block(self, slab: Slab) -> Block:
        """The slab as a block of words over time. Time is the number of the layer in a step.

        A slab that keeps rows for the next step is in use all the time.
        """
        members = tuple(slab.seats)
        if members not in self._blocks:
            own = [self.tenants[number].presence for number in members]
            if any(each.carried for each in own):
                self._blocks[members] = Block(0, max(each.presence.last for each in self.tenants) + 1, slab.words)
            else:
                self._blocks[members] = Block(min(each.first for each in own), max(each.last for each in own) + 1, slab.words)
        return self._blocks[members]

    def _berths(self, slabs: Sequence[Slab], offsets: Sequence[int]) -> list[Berth]:
        found: dict[int, Berth] = {}
        for slab, offset in zip(slabs, offsets, strict=True):
            for number, seat in slab.seats.items():
                word = offset + seat.plane * slab.rows * slab.pitch
                found[number] = Berth(word, slab.rows, slab.pitch, seat.shift)
        return [found[number] for number in range(len(self.tenants))]


def clear(one: tuple[Placed, Presence], other: tuple[Placed, Presence]) -> bool:
    """Whether two rings that share words never use the same word at the same moment.

    This can be told only if both lie in one slab, or if they are never in use at the same time.
    """
    (own, present), (its, theirs) = one, other
    meeting = _meeting(present, theirs)
    if not meeting.shifts:
        return True
    alike = (own.ring, own.pitch, own.plane) == (its.ring, its.pitch, its.plane) and (own.base - its.base) % own.plane == 0
    return alike and not _taken(meeting, own.ring) >> (own.shift - its.shift) % own.ring & 1


def _meeting(own: Presence, its: Presence) -> Meeting:
    """The relative shifts at which both use a row at the same moment, not yet taken modulo the rows of a slab."""
    both = (own.begin < own.end) & (its.begin < its.end)
    first, last = its.begin[both] - own.end[both] + 1, its.end[both] - own.begin[both] - 1
    lowest = min(first.tolist(), default=0)
    shifts = 0
    for low, high in {*zip(first.tolist(), last.tolist(), strict=True)}:
        shifts |= (1 << high - low + 1) - 1 << low - lowest
    return Meeting(lowest, shifts)


def _taken(meeting: Meeting, rows: int) -> Mask:
    """The same shifts modulo the rows of a slab of ``rows`` rows."""
    full = (1 << rows) - 1
    mask, shifts = 0, meeting.shifts
    while shifts:
        mask |= shifts & full
        shifts >>= rows
    mask <<= meeting.lowest % rows
    return (mask | mask >> rows) & full
