"""CONV or POOL at work beside units that go first: each step waits until its banks are free."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from sim.cycle.geometry import Ints
from sim.cycle.trails import Groups, Record, Stretch, Trail
from sim.cycle.walks import Masks, Walk

BLOCK = 512
"""The most cycles that are looked at together."""
Taken = Callable[[Groups, int, int], Masks | None]
"""A function from bank groups and two cycles to the banks that others take in each cycle between."""
Held = Callable[[int, int], float]
"""A function from two cycles to the cycles by which steps between them are held up, bank conflicts left out."""
HELD_BLOCK = 32
"""The most cycles that are looked at together where steps are held up."""


@dataclass(frozen=True, slots=True)
class Side:
    """What an instruction reads or writes, and where it leaves its trail."""

    groups: Groups
    walk: Walk
    trail: deque[Trail]


@dataclass(frozen=True, slots=True)
class Places:
    """The writes of each reduction: ``per`` entries, the first of them ``lag`` cycles after the last read."""

    side: Side
    per: int
    lag: int
    contested: bool


class WindowContest:
    """Reads in order, one step per cycle if all of its banks are free. A step keeps the words that it has got."""

    def __init__(
        self, reads: Side, reductions: int, first: int, places: Places | None, held: Held | None = None
    ) -> None:  # fmt: skip
        """Takes the steps of the walk, which knows each bank and where lanes take turns."""
        self._held = held
        self._late = 0.0
        """The cycles, less than one, by which the work is late."""
        self.cycle = first
        """The cycle of the step at hand."""
        self.last_write = -1
        self._reads, self._places = reads, places
        self._steps, self._reductions = len(reads.walk.masks()), reductions
        self._step = 0
        self._left: int | None = None
        """The banks that the step at hand still wants, if it has some of its words."""
        self._reduced = 0

    @property
    def bound(self) -> int:
        """The cycle in which the work is over if nobody is in the way any more."""
        return self.cycle + self._steps - self._step

    @property
    def over(self) -> bool:
        return self._step == self._steps

    def advance(self, until: int, taken_reads: Taken, taken_writes: Taken) -> None:
        """Goes on to that cycle; what others do until then is known."""
        while self._step < self._steps and self.cycle < until:
            size = min(until - self.cycle, self._steps - self._step)
            if self._held is not None:
                size = min(size, HELD_BLOCK)
                self._late += self._held(self.cycle, self.cycle + size)
                late, self._late = int(self._late), self._late % 1
                self.cycle += late
            taken = taken_reads(self._reads.groups, self.cycle, self.cycle + size)
            if taken is None:
                self._go(size, taken_writes)
                continue
            taken = taken[:BLOCK]
            masks = self._reads.walk.masks()[self._step : self._step + len(taken)]
            if self._left is not None:
                masks = masks.copy()
                masks[0] = self._left
            meets = np.flatnonzero(masks & taken)
            size = int(meets[0]) if len(meets) else len(taken)
            if size:
                self._go(size, taken_writes)
            if size < len(taken):
                self._wait(masks[size:], taken[size:], taken_writes)

    def _go(self, size: int, taken_writes: Taken) -> None:
        """Takes steps that meet nobody."""
        reads = self._reads
        reads.trail.append(Stretch(self.cycle, self.cycle + size, reads.groups, reads.walk, skip=self._step))
        self._left = None
        begin, self._step = self._step, self._step + size
        self._reduce(self.cycle - begin, taken_writes)
        self.cycle += size

    def _wait(self, masks: Masks, taken: Masks, taken_writes: Taken) -> None:
        """Takes steps in cycles in which others use banks."""
        wanted, done, left = _follow(masks.tobytes(), taken.tobytes())
        cycles = np.arange(self.cycle, self.cycle + len(wanted))
        self._reads.trail.append(Record(self.cycle, self.cycle + len(wanted), self._reads.groups, cycles, wanted))
        begin, self._step = self._step, self._step + len(done)
        places = self._places
        reduced = self._step * self._reductions // self._steps
        if places is not None and reduced > self._reduced:
            ends = -(-np.arange(self._reduced + 1, reduced + 1) * self._steps // self._reductions) - 1 - begin
            offered = ((self.cycle + done[ends] + places.lag)[:, None] + np.arange(places.per)).ravel()
            entries = places.side.walk.masks()[self._reduced * places.per : reduced * places.per]
            self._reduced = reduced
            self._offer(places, offered, entries, taken_writes)
        self._left = left
        self.cycle += len(wanted)

    def _reduce(self, origin: int, taken_writes: Taken) -> None:
        """Places the writes of the reductions that are over now. ``origin``: the cycle of step 0 if none had waited."""
        places = self._places
        if places is None:
            return
        reduced = self._step * self._reductions // self._steps
        count = reduced - self._reduced
        if not count:
            return
        period = self._steps / self._reductions
        begin = origin + -(-(self._reduced + 1) * self._steps // self._reductions) - 1 + places.lag
        end = begin + int((count - 1) * period) + places.per
        side = places.side
        piece = Stretch(begin, end, side.groups, side.walk, places.per, period, self._reduced * places.per)
        self._reduced = reduced
        if places.contested:
            self._write(places, piece, taken_writes)
        else:
            side.trail.append(piece)
            self.last_write = end - 1

    def _write(self, places: Places, piece: Stretch, taken_writes: Taken) -> None:
        """Writes at even distances."""
        begin = max(piece.begin, self.last_write + 1)
        if begin == piece.begin and taken_writes(piece.groups, begin, piece.end) is None:
            places.side.trail.append(piece)
            self.last_write = piece.end - 1
        else:
            self._offer(places, *piece.entries(), taken_writes)

    def _offer(self, places: Places, offered: Ints, masks: Masks, taken_writes: Taken) -> None:
        """Writes by way of a queue, which is long enough that reads go on."""
        side = places.side
        begin, end = max(int(offered[0]), self.last_write + 1), int(offered[-1]) + 1
        taken = taken_writes(side.groups, begin, max(begin + 1, end)) if places.contested else None
        if begin == offered[0] and (taken is None or not (taken[offered - begin] & masks).any()):
            side.trail.append(Record(begin, end, side.groups, offered, masks))
            self.last_write = end - 1
            return
        busy = [] if taken is None else taken.tolist()
        now, last = begin, 0 if masks[-1] else int(offered[-1])
        asking = masks.nonzero()[0]
        offered, masks = offered[asking], masks[asking]
        # Once the queue is empty, a write that meets no other port is done in the cycle in which it is offered.
        met = () if taken is None else (taken[np.maximum(offered - begin, 0)] & masks).nonzero()[0].tolist()
        offers, wants, count = offered.tolist(), masks.tolist(), len(masks)
        cycles: list[int] = []
        wanted: list[int] = []
        meeting = iter(met)
        following = next(meeting, count)
        entry = 0
        while entry < count:
            cycle = offers[entry]
            if places.contested and now <= cycle:
                while following < entry:
                    following = next(meeting, count)
                if following > entry:
                    cycles += offers[entry:following]
                    wanted += wants[entry:following]
                    now = offers[following - 1] + 1
                    entry = following
                    continue
            now = max(now, cycle)
            left = wants[entry]
            entry += 1
            while left:
                if now - begin >= len(busy):
                    more = taken_writes(side.groups, begin + len(busy), now + BLOCK)
                    busy += [0] * (now + BLOCK - begin - len(busy)) if more is None else more.tolist()
                cycles.append(now)
                wanted.append(left)
                left &= busy[now - begin]
                now += 1
        now = max(now, last)
        self.last_write = now - 1
        if cycles:
            side.trail.append(Record(cycles[0], now, side.groups, np.array(cycles, np.int64), np.array(wanted, np.uint64)))


@lru_cache(maxsize=1 << 12)
def _follow(masks: bytes, taken: bytes) -> tuple[Masks, Ints, int | None]:
    """Follows steps through cycles in which others use banks.

    Returns the banks that are wanted in each cycle, the cycles in which steps are over, and the banks that the step at hand
    still wants.
    """
    steps, busy = np.frombuffer(masks, np.uint64), np.frombuffer(taken, np.uint64).tolist()
    end = len(busy)
    late: list[int] = []
    """The cycles in which a step goes on that began before."""
    lefts: list[int] = []
    """The banks that the step wants in each of these."""
    cycle = begun = left = 0
    for want in steps.tolist():
        if cycle == end:
            break
        begun += 1
        left = want & busy[cycle]
        cycle += 1
        while left and cycle < end:
            late.append(cycle)
            lefts.append(left)
            left &= busy[cycle]
            cycle += 1
    wanted = np.empty(cycle, np.uint64)
    first = np.ones(cycle, np.bool_)
    first[late] = False
    wanted[first] = steps[:begun]
    wanted[late] = lefts
    done = np.append(first.nonzero()[0][1:] - 1, cycle - 1) if not left else first.nonzero()[0][1:] - 1
    if not left and begun < len(steps):
        return wanted, done, steps.item(begun)
    return wanted, done, left or None
