"""Estimates when each load, layer and save of a group is done, step by step.

LOAD, SAVE and the units are recurrences. A task begins when its unit is free and its sources are there. It ends when it has
worked and its last piece is through.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from compiler.instructions.latency import AFTER, AFTER_LOAD
from isa.instructions import Unit

_LOAD, _SAVE = Unit.LOAD, Unit.SAVE


@dataclass(slots=True, eq=False)
class Task:
    """A load, a layer or a save over all steps."""

    unit: Unit
    behind: int
    """The number of steps by which it runs behind the first load."""
    rows: list[int]
    """The rows in each step."""
    cost: float
    """The cycles of a row."""
    piece: int
    """The rows of a piece: at the edges of a step they are done together."""
    sources: list[tuple[list[float], list[float]]] = field(default_factory=list)
    """``first`` and ``last`` of the tasks whose rows it reads. A task holds their lists and not the tasks, because tasks that
    hold each other are freed only by the collector of cycles."""
    room: Sequence[tuple[list[float], list[float], int]] = ()
    """``first`` and ``last`` of the tasks that must be done with the rows that it overwrites, and how many steps ago they used
    these rows."""
    after: Sequence[tuple[list[float], int]] = ()
    """``last`` of the tasks that must be done with words that it takes over from other maps, and how many steps ago they used
    them."""
    blocks: int = 1
    stay: float = 0.0
    """The cycles of loading the parameters that stay. It is 0 once they are loaded."""
    streamed: float = 0.0
    """The cycles of loading the streamed parameters of one step."""
    first: list[float] = field(default_factory=list)
    last: list[float] = field(default_factory=list)
    """The time at which the last piece of each step is done. ``first``: the time at which the first piece is."""

    def rest(self, step: int) -> None:
        """Does a step without rows, which takes no time."""
        self.first.append(self.first[-1] if step else 0.0)
        self.last.append(self.last[-1] if step else 0.0)


@dataclass(slots=True, eq=False)
class Engine:
    """The state of a unit: the beats that it has yet to do, and its times."""

    left: float
    """The beats that the unit has yet to do."""
    free: float = 0.0
    begun: float | None = None


class Walker:
    """LOAD, SAVE and the units as recurrences. Of the pieces of a step only the first and the last are told apart.

    This is the inner loop of the search. Comparisons are written out, because a call of ``max`` takes three times as long.
    """

    def __init__(self, weights: float, beats: Mapping[Unit, float]) -> None:
        self.weights = weights
        """The cycles of loading as many weights as can wait or be in use."""
        self.engines = {unit: Engine(count) for unit, count in beats.items()}
        self.loaded = self.saved = 0.0
        """The times at which LOAD and SAVE are free."""
        self.bus = 0.0
        self._streamed = 0.0
        self._used: list[tuple[float, float, float, float]] = []
        """Streamed parameters: begin and end, in cycles of loading from the start, and the begin and end of their use."""

    def doing(self, task: Task) -> Callable[[Task, int], None]:
        """Returns the function that does a step of the task, if the step has rows."""
        return self._load if task.unit is _LOAD else self._save if task.unit is _SAVE else self._compute

    def _load(self, task: Task, step: int) -> None:
        """Does a step of a load. It waits for room; other loads may overtake it meanwhile."""
        rows = task.rows[step]
        work, pieces = rows * task.cost, -(-rows // task.piece)
        part = work / pieces
        begin = self.loaded
        all_free = 0.0
        for firsts, lasts, ago in task.room:
            if step >= ago:
                first, last = firsts[step - ago], lasts[step - ago]
                if first > begin:
                    begin = first
                if last > all_free:
                    all_free = last
        for lasts, ago in task.after:
            if step >= ago and lasts[step - ago] > begin:
                begin = lasts[step - ago]
        if all_free > begin + work * (pieces - 1) / pieces:
            self.loaded += work
        else:
            self.loaded = begin + work
        end = begin + work
        if all_free + part > end:
            end = all_free + part
        self.bus += work
        task.first.append(begin + part + AFTER_LOAD)
        task.last.append(end + AFTER_LOAD)

    def _save(self, task: Task, step: int) -> None:
        rows = task.rows[step]
        work = rows * task.cost
        part = work / -(-rows // task.piece)
        begin = self.saved
        all_given = 0.0
        for firsts, lasts in task.sources:
            first, last = firsts[step], lasts[step]
            if first > begin:
                begin = first
            if last > all_given:
                all_given = last
        end = begin + work
        if all_given + part > end:
            end = all_given + part
        if self.loaded > begin:
            self.loaded += work
        self.bus += work
        self.saved = end
        task.first.append(begin + part + AFTER)
        task.last.append(end + AFTER)

    def _compute(self, task: Task, step: int) -> None:
        """Does a step of a layer. Its first block of parameters must be there; the last is needed only for the last block."""
        rows = task.rows[step]
        work = rows * task.cost
        block = work / task.blocks
        part = block / -(-rows // task.piece)
        engine = self.engines[task.unit]
        begin = engine.free
        all_given = all_free = 0.0
        for firsts, lasts in task.sources:
            first, last = firsts[step], lasts[step]
            if first > begin:
                begin = first
            if last > all_given:
                all_given = last
        for firsts, lasts, ago in task.room:
            if step >= ago:
                first, last = firsts[step - ago], lasts[step - ago]
                if first > begin:
                    begin = first
                if last > all_free:
                    all_free = last
        for lasts, ago in task.after:
            if step >= ago and lasts[step - ago] > begin:
                begin = lasts[step - ago]
        size = task.streamed + task.stay
        task.stay = 0.0
        all_there = 0.0
        if size:
            there, all_there = self._parameters(task, size, size / task.blocks)
            if there > begin:
                begin = there
        # The first block takes the pieces as they come. The others need all of them.
        end = begin + work
        if all_given + work - block + part > end:
            end = all_given + work - block + part
        if all_free + part > end:
            end = all_free + part
        if all_there + block > end:
            end = all_there + block
        if task.streamed:
            self._used.append((self._streamed, self._streamed + task.streamed, begin, end))
            self._streamed += task.streamed
            if task.streamed > self.weights:
                self.loaded = max(self.loaded, end - (end - begin) * self.weights / task.streamed)
        engine.free = end
        engine.left -= work
        if engine.begun is None:
            engine.begun = begin
        task.first.append(end - block + part + AFTER)
        task.last.append(end + AFTER)

    def _parameters(self, task: Task, size: float, first: float) -> tuple[float, float]:
        """Loads parameters of this size, and returns the times at which the first block is there and at which all are."""
        loading = self.loaded
        if task.streamed:
            loading = max(loading, self._when_used(self._streamed - self.weights + first))
        self.loaded = loading + size
        self.bus += size
        return loading + first + AFTER_LOAD, loading + size + AFTER_LOAD

    def _when_used(self, amount: float) -> float:
        """The time from which this amount of the streamed parameters, counted from the start, is no longer needed."""
        for low, high, begin, end in reversed(self._used):
            if amount > low:
                return begin + (end - begin) * min(1.0, (amount - low) / (high - low))
        return 0.0
