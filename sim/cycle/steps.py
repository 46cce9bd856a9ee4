"""Which of the interleaved banks a unit reads, step by step, and how one unit keeps another from them."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from math import gcd

HORIZON = 2048
"""Cycles in which two units are watched."""


@dataclass(frozen=True, slots=True)
class Steps:
    """The walk of CONV or POOL over the words that it reads, modulo the banks over which words are interleaved.

    CONV reads all channel vectors of a few pixels before it goes on. If they lie in the same banks, it keeps these for as
    long, and whoever walks across the map stands still in front of them.
    """

    phases: int
    lanes: int
    apart: int
    """Words from lane to lane."""
    rows: int
    row: int
    """Taps below each other, and words between them."""
    columns: int
    column: int
    vectors: int
    vector: int

    def masks(self) -> list[int]:
        """The banks of each step, until they repeat."""
        group = self.lanes * self.apart
        groups = self.phases // gcd(group, self.phases)
        return [
            self._mask(g * group + y * self.row + x * self.column + v * self.vector)
            for g in range(groups) for y in range(self.rows) for x in range(self.columns) for v in range(self.vectors)
        ]  # fmt: skip

    def _mask(self, first: int) -> int:
        mask = 0
        for lane in range(self.lanes):
            mask |= 1 << (first + lane * self.apart) % self.phases
        return mask


@lru_cache(maxsize=1 << 12)
def lost(own: Steps, rival: Steps) -> float:
    """The share of cycles that a unit waits for banks, beside a rival that goes first and never rests.

    A lane that finds its bank free takes its word; the step is over when all have theirs.
    """
    ours, theirs = own.masks(), rival.masks()
    done, left = 0, ours[0]
    for cycle in range(HORIZON):
        left &= theirs[cycle % len(theirs)]
        if not left:
            done += 1
            left = ours[done % len(ours)]
    return 1.0 - done / HORIZON
