"""What a unit has asked of the feature maps, cycle by cycle: those that come after it see which banks it takes."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from sim.cycle.walks import Ints, Masks, Walk

Groups = int
"""Bank groups as a mask: those that an instruction reads or writes."""


@dataclass(frozen=True, slots=True)
class Stretch:
    """The accesses of an instruction between two cycles: ``per`` in a row, and again every ``period`` cycles."""

    begin: int
    end: int
    groups: Groups
    walk: Walk
    per: int = 1
    period: float = 1.0

    def fill(self, taken: Masks, first: int) -> None:
        """Add the banks that it takes to those taken from cycle ``first`` on."""
        low, high = max(first, self.begin), min(first + len(taken), self.end)
        if low >= high:
            return
        masks = self.walk.masks()
        if self.period == 1.0:
            found = masks[low - self.begin : high - self.begin]
            taken[low - first : low - first + len(found)] |= found
            return
        entry = int((low - self.begin) / self.period) * self.per
        stop = min(len(masks), (int((high - self.begin) / self.period) + 1) * self.per)
        numbers = np.arange(entry, stop)
        cycles = self.begin + (numbers // self.per * self.period).astype(np.int64) + numbers % self.per
        inside = (cycles >= low) & (cycles < high)
        taken[cycles[inside] - first] |= masks[numbers[inside]]


@dataclass(frozen=True, slots=True)
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


def taken_by(trails: Iterable[Trail], groups: Groups, first: int, end: int) -> Masks | None:
    """The banks that are taken in each cycle from ``first`` to ``end`` in these groups; None: none ever."""
    taken: Masks | None = None
    for trail in trails:
        if trail.begin < end and trail.end > first and trail.groups & groups:
            if taken is None:
                taken = np.zeros(end - first, np.uint64)
            trail.fill(taken, first)
    return taken
