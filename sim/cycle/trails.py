"""The banks that a unit has asked for, cycle by cycle, so that units that come after it see which are taken."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Reversible, Sequence
from dataclasses import dataclass
from itertools import chain

import numpy as np

from sim.cycle.geometry import Ints
from sim.cycle.walks import Masks, Walk

Groups = int
"""Bank groups as a mask."""


@dataclass(slots=True)
class Stretch:
    """The accesses of an instruction between two cycles: ``per`` in a row, and again every ``period`` cycles. Never changed.

    The class is not frozen, for that would double the time to make one. The same holds for ``Record``.
    """

    begin: int
    end: int
    groups: Groups
    walk: Walk
    per: int = 1
    period: float = 1.0
    skip: int = 0
    """The accesses of the walk that came before."""

    def fill(self, taken: Masks, first: int) -> None:
        """Adds the banks that it takes to those taken from cycle ``first`` on."""
        low, high = max(first, self.begin), min(first + len(taken), self.end)
        if low >= high:
            return
        masks, skip, begin, per, period = self.walk.masks(), self.skip, self.begin, self.per, self.period
        if period == 1.0:
            found = masks[skip + low - begin : skip + high - begin]
            taken[low - first : low - first + len(found)] |= found
        elif per <= period and period.is_integer():
            # The accesses of one number within their bunches come every ``apart`` cycles, with every ``per``-th mask.
            apart = int(period)
            for number in range(per):
                start = begin + number
                bunch = max(0, -((start - low) // apart))
                count = min(-((start - high) // apart), (len(masks) - skip - number + per - 1) // per) - bunch
                if count > 0:
                    at, of = start + bunch * apart - first, skip + number + bunch * per
                    taken[at : at + count * apart : apart] |= masks[of : of + count * per : per][:count]
        else:
            cycles, found = self.entries(low, high)
            taken[cycles - first] |= found

    def entries(self, low: int = 0, high: int = 1 << 62) -> tuple[Ints, Masks]:
        """The cycles and the banks of the accesses between two cycles."""
        low, high = max(low, self.begin), min(high, self.end)
        masks, per, period = self.walk.masks(), self.per, self.period
        bunch = int((low - self.begin) / period)
        first = bunch * per
        stop = min(len(masks) - self.skip, (int((high - self.begin) / period) + 1) * per)
        if per <= period:
            cycles = (np.arange(bunch, -(-stop // per)) * period).astype(np.int64)
            cycles += self.begin
            if per > 1:
                cycles = (cycles[:, None] + np.arange(per)).ravel()[: max(0, stop - first)]
            begin, end = cycles.searchsorted((low, high)).tolist()
            return cycles[begin:end], masks[self.skip + first + begin : self.skip + first + end]
        numbers = np.arange(first, stop)
        cycles = self.begin + (numbers // per * period).astype(np.int64) + numbers % per
        inside = (cycles >= low) & (cycles < high)
        return cycles[inside], masks[self.skip + numbers[inside]]


@dataclass(slots=True)
class Record:
    """Accesses that had to wait: the banks that were asked for in each of these cycles."""

    begin: int
    end: int
    groups: Groups
    cycles: Ints
    masks: Masks

    def fill(self, taken: Masks, first: int) -> None:
        low, high = np.searchsorted(self.cycles, (first, first + len(taken)))
        taken[self.cycles[low:high] - first] |= self.masks[low:high]


Trail = Stretch | Record


@dataclass(slots=True)
class Latest:
    """Remembered trails and those that follow them. They are not joined, since readers begin at the end."""

    before: Sequence[Trail]
    last: Sequence[Trail]

    def __iter__(self) -> Iterator[Trail]:
        return chain(self.before, self.last)

    def __reversed__(self) -> Iterator[Trail]:
        return chain(reversed(self.last), reversed(self.before))


def taken_by(rivals: Iterable[Reversible[Trail]], groups: Groups, first: int, end: int) -> Masks | None:
    """The banks in these groups that are taken in each cycle from ``first`` to ``end``, or None if there are never any.

    The trails of a rival are in the order of time.
    """
    taken: Masks | None = None
    for trails in rivals:
        for trail in reversed(trails):
            if trail.end <= first:
                break
            if trail.begin < end and trail.groups & groups:
                if taken is None:
                    taken = np.zeros(end - first, np.uint64)
                trail.fill(taken, first)
    return taken
