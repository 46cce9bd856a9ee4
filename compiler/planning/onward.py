"""The walk of groups in a row: what the loads of one leave of DRAM's time, those of the next may take.

Within a group alone it is enough to say when LOAD is free (``recurrence.py``). In a row a load often waits for what the group
before saves, while parameters that nothing keeps waiting overtake it, as the order of the program has it
(``schedule/order.py``). So the time in which DRAM rests is kept, and filled.
"""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass, field, replace
from operator import itemgetter

from compiler.planning.recurrence import Task, Walker
from compiler.schedule.latency import AFTER, AFTER_LOAD
from isa.instructions import Unit

FEW = 12
"""Loads that may overtake a waiting one from as far behind it as they like; of the others only those of the next group do.

The order of the program lets 48 of one unit overtake (``schedule/order.py``), but only those that are over by then: with 48
naive MobileNetV2 on ``base`` was told 10 % too short, with 12 it is 7 %."""


_END = itemgetter(1)


@dataclass
class Bus:
    """DRAM's time: taken up to ``free``, but for the gaps."""

    free: float = 0.0
    gaps: list[tuple[float, float, int]] = field(default_factory=list)
    """From, to, and how many loads stand in the program before the one that left it; in the order of time, none empty."""
    loads: int = 0

    def forget(self, until: float) -> None:
        """Gaps before, but those that few loads have left behind them."""
        self.gaps = [
            gap if gap[2] >= self.loads - FEW else (max(until, gap[0]), gap[1], gap[2])
            for gap in self.gaps if gap[2] >= self.loads - FEW or gap[1] > until
        ]  # fmt: skip

    def take(self, ready: float, size: float, first: float, loads: int) -> tuple[float, float]:
        """So much of it, from ``ready`` on, for so many loads: when the ``first`` of it is over, and when all."""
        left, some = size, None
        number = self.loads
        self.loads += loads
        gaps = self.gaps
        place = over = bisect_right(gaps, ready, key=_END)
        kept: list[tuple[float, float, int]] = []
        while place < len(gaps):
            begin, end, before = gaps[place]
            place += 1
            start = begin
            if ready > begin:
                start = ready
                kept.append((begin, start, before))
            taken = min(left, end - start)
            if some is None and size - left + taken >= first:
                some = start + first - (size - left)
            left -= taken
            if left <= 0.0:
                if start + taken < end:
                    kept.append((start + taken, end, before))
                gaps[over:place] = kept
                return some if some is not None else start + taken, start + taken
        gaps[over:] = kept
        if ready > self.free:
            gaps.append((self.free, ready, number))
            self.free = ready
        if some is None:
            some = self.free + first - (size - left)
        self.free += left
        return some, self.free


class Onward(Walker):
    """Goes from group to group."""

    def __init__(self) -> None:
        super().__init__(0.0, dict.fromkeys(Unit, 0.0))
        self.dram = Bus()
        self.room = 0.0
        """When there is room for the next parameters, beside those of the group before."""

    def go_on(self, weights: float, begin: float) -> None:
        """With another group, whose streaming weights have this room, and little of which is loaded before ``begin``."""
        self.dram.forget(begin)
        self.weights = weights
        self._streamed = 0.0
        self._used = []
        self.room = 0.0

    def copy(self) -> Onward:
        """In the same state."""
        other = Onward()
        other.__dict__.update(self.__dict__)
        other.engines = {unit: replace(engine) for unit, engine in self.engines.items()}
        other.dram = Bus(self.dram.free, [*self.dram.gaps], self.dram.loads)
        other._used = [*self._used]
        return other

    def in_use(self) -> list[tuple[float, float]]:
        """Streamed parameters that may still be on chip: until when they are used, and how many."""
        return [(end, high - low) for low, high, _, end in self._used if high > self._streamed - self.weights]

    def _load(self, task: Task, step: int) -> None:
        if step == 0 and task.leads:
            self._lead(task.leads)
        rows = task.rows[step]
        work = rows * task.cost
        part = work / -(-rows // task.piece)
        ready, all_free = task.given[step] if task.given else (0.0, 0.0)
        for firsts, lasts, ago in task.room:
            if step >= ago:
                ready, all_free = max(ready, firsts[step - ago]), max(all_free, lasts[step - ago])
        for lasts, ago in task.after:
            if step >= ago:
                ready = max(ready, lasts[step - ago])
        first, end = self.dram.take(ready, work, part, -(-rows // task.piece))
        task.first.append(first + AFTER_LOAD)
        task.last.append(max(end, all_free + part) + AFTER_LOAD)

    def _save(self, task: Task, step: int) -> None:
        rows = task.rows[step]
        work = rows * task.cost
        part = work / -(-rows // task.piece)
        begin = max([self.saved, *[firsts[step] for firsts, _ in task.sources]])
        all_given = max([lasts[step] for _, lasts in task.sources])
        self.dram.take(begin, work, part, 0)
        self.saved = max(begin + work, all_given + part)
        task.first.append(begin + part + AFTER)
        task.last.append(self.saved + AFTER)

    def _lead(self, task: Task) -> None:
        """As loads are needed (``schedule/order.py``): the first parameters of a layer before its rows."""
        size = task.streamed + task.stay
        if size and task.early is None:
            first = size / task.blocks
            task.early = self._parameters(task, first, first)[0]

    def _parameters(self, task: Task, size: float, first: float) -> tuple[float, float]:
        ready = self.room
        if task.streamed:
            ready = max(ready, self._when_used(self._streamed - self.weights + first))
        some, end = self.dram.take(ready, size, first, round(size / first) * max(1, round(first / 1024)))
        return some + AFTER_LOAD, end + AFTER_LOAD
