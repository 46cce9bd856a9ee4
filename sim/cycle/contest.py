"""CONV or POOL at work beside units that go first: step by step, as the banks are free."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from sim.cycle.trails import Groups, Record
from sim.cycle.walks import Ints, Masks

BLOCK = 512
"""Cycles that are looked at together."""
Taken = Callable[[Groups, int, int], Masks | None]
"""The banks that others take in these groups, cycle by cycle."""


@dataclass(frozen=True, slots=True)
class Places:
    """What a reduction writes: ``per`` entries of ``masks`` from ``lag`` cycles after its last read on."""

    groups: Groups
    masks: Masks
    per: int
    lag: int
    contested: bool


class WindowContest:
    """Reads in order, one step per cycle if all of its banks are free; what a step has got it keeps."""

    def __init__(self, groups: Groups, masks: Masks, reductions: int, first: int, places: Places | None) -> None:
        self.cycle = first
        """Of the step at hand."""
        self.reads: list[Record] = []
        self.writes: list[Record] = []
        self.last_write = -1
        self._groups, self._masks, self._reductions = groups, masks, reductions
        self._places = places
        self._step = 0
        self._left: int | None = None
        """Banks that the step at hand still wants, if it has some of its words."""
        self._pending: deque[tuple[int, int]] = deque()
        """Writes to come: not before that cycle, into these banks."""
        self._reduced = 0
        self._write_cycle = 0

    @property
    def bound(self) -> int:
        """The cycle in which it is over if nobody is in the way any more."""
        reads = self.cycle + len(self._masks) - self._step
        return max(reads, self._write_cycle + len(self._pending), self._pending[-1][0] + 1) if self._pending else reads

    @property
    def over(self) -> bool:
        return self._step == len(self._masks) and not self._pending

    def advance(self, until: int, taken_reads: Taken, taken_writes: Taken) -> None:
        """Go on to that cycle; what others do until then is known."""
        while self._step < len(self._masks) and self.cycle < until:
            size = min(until - self.cycle, BLOCK, len(self._masks) - self._step)
            taken = taken_reads(self._groups, self.cycle, self.cycle + size)
            masks = self._masks[self._step : self._step + size]
            if taken is not None:
                if self._left is not None:
                    masks = masks.copy()
                    masks[0] = self._left
                meets = np.flatnonzero(masks & taken)
                size = int(meets[0]) if len(meets) else size
            if size:
                self._go(masks[:size])
            if taken is not None and size < len(taken):
                self._wait(masks[size:], taken[size:])
        if self._pending:
            self._write(until, taken_writes)

    def _go(self, masks: Masks) -> None:
        cycles = np.arange(self.cycle, self.cycle + len(masks))
        self.reads.append(Record(self.cycle, self.cycle + len(masks), self._groups, cycles, masks))
        self._stepped(cycles)
        self.cycle += len(masks)
        self._left = None

    def _wait(self, masks: Masks, taken: Masks) -> None:
        """Step by step through cycles in which banks are taken."""
        wanted: list[int] = []
        cycles: list[int] = []
        steps = iter(masks.tolist())
        left = next(steps)
        now = self.cycle
        for busy in taken.tolist():
            wanted.append(left)
            left &= busy
            if not left:
                cycles.append(now)
                now += 1
                left = next(steps, -1)
                if left < 0:
                    break
            else:
                now += 1
        passed = np.arange(self.cycle, now)
        self.reads.append(Record(self.cycle, now, self._groups, passed, np.array(wanted, np.uint64)))
        self._left = left if left >= 0 else None
        self._stepped(np.array(cycles, np.int64))
        self.cycle = now

    def _stepped(self, cycles: Ints) -> None:
        """Steps were over in these cycles: their reductions' places are known."""
        begin, self._step = self._step, self._step + len(cycles)
        places = self._places
        if places is None:
            return
        steps = len(self._masks)
        reduced = self._step * self._reductions // steps
        if reduced == self._reduced:
            return
        ends = -(-np.arange(self._reduced + 1, reduced + 1) * steps // self._reductions) - 1 - begin
        offered = ((cycles[ends] + places.lag)[:, None] + np.arange(places.per)).ravel()
        masks = places.masks[self._reduced * places.per : reduced * places.per]
        self._reduced = reduced
        if places.contested:
            self._pending.extend(zip(offered.tolist(), masks.tolist(), strict=True))
        else:
            self.writes.append(Record(int(offered[0]), int(offered[-1]) + 1, places.groups, offered, masks))
            self.last_write = int(offered[-1])

    def _write(self, until: int, taken_writes: Taken) -> None:
        """Writes wait in a queue, which is long enough that reads go on."""
        places, pending = self._places, self._pending
        assert places is not None
        cycles: list[int] = []
        wanted: list[int] = []
        now = self._write_cycle
        begin = end = now
        busy: list[int] = []
        while pending:
            offered, left = pending[0]
            now = max(now, offered)
            if now >= until:
                break
            if now >= end:
                begin, end = now, min(until, now + BLOCK)
                taken = taken_writes(places.groups, begin, end)
                busy = [0] * (end - begin) if taken is None else taken.tolist()
            while left and now < end:
                cycles.append(now)
                wanted.append(left)
                left &= busy[now - begin]
                now += 1
            if left:
                pending[0] = (offered, left)
            else:
                pending.popleft()
                self.last_write = now - 1
        self._write_cycle = now
        if cycles:
            record = Record(cycles[0], now, places.groups, np.array(cycles, np.int64), np.array(wanted, np.uint64))
            self.writes.append(record)
