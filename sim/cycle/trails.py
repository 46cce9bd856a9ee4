"""What a unit has asked of the feature maps, cycle by cycle: those that come after it see which banks it takes."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from sim.cycle.geometry import Ints
from sim.cycle.walks import Masks, Walk

Groups = int
"""Bank groups as a mask: those that an instruction reads or writes."""


@dataclass(slots=True)
class Stretch:
    """The accesses of an instruction between two cycles: ``per`` in a row, and again every ``period`` cycles. Never changed.

    Not frozen: that would double the time to make one, and so for ``Record``.
    """

    begin: int
    end: int
    groups: Groups
    walk: Walk
    per: int = 1
    period: float = 1.0
    skip: int = 0
    """Accesses of the walk that came before."""

    def fill(self, taken: Masks, first: int) -> None:
        """Add the banks that it takes to those taken from cycle ``first`` on."""
        low, high = max(first, self.begin), min(first + len(taken), self.end)
        if low >= high:
            return
        if self.period == 1.0:
            found = self.walk.masks()[self.skip + low - self.begin : self.skip + high - self.begin]
            taken[low - first : low - first + len(found)] |= found
            return
        cycles, masks = self.entries(low, high)
        taken[cycles - first] |= masks

    def entries(self, low: int = 0, high: int = 1 << 62) -> tuple[Ints, Masks]:
        """Cycles and banks of the accesses between two cycles."""
        low, high = max(low, self.begin), min(high, self.end)
        masks = self.walk.masks()
        bunch = int((low - self.begin) / self.period)
        stop = min(len(masks) - self.skip, (int((high - self.begin) / self.period) + 1) * self.per)
        numbers = np.arange(bunch * self.per, stop)
        cycles = self.begin + (numbers // self.per * self.period).astype(np.int64) + numbers % self.per
        inside = (cycles >= low) & (cycles < high)
        return cycles[inside], masks[self.skip + numbers[inside]]


@dataclass(slots=True)
class Record:
    """Accesses that had to wait: in each of these cycles, these banks."""

    begin: int
    end: int
    groups: Groups
    cycles: Ints
    masks: Masks

    def fill(self, taken: Masks, first: int) -> None:
        low, high = np.searchsorted(self.cycles, (first, first + len(taken)))
        taken[self.cycles[low:high] - first] |= self.masks[low:high]


Trail = Stretch | Record


def taken_by(rivals: Iterable[Sequence[Trail]], groups: Groups, first: int, end: int) -> Masks | None:
    """The banks that are taken in each cycle from ``first`` to ``end`` in these groups; None: none ever.

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
