"""ROW at work beside units that go first. Words go in and out as their banks are free; rows go from pass to pass between."""

from __future__ import annotations

from dataclasses import dataclass

from isa.config import MachineConfig
from isa.depths import ROW_ANSWERS, row_room
from isa.latency import BANK_LATENCY
from isa.stages import FIFO, ROW_EMIT, ROW_NUMBERS, ROW_RECIPROCAL, ROW_REDUCE, ROW_ROOT, ROW_TOTAL, ROWS_HELD
from sim.cycle.contest import BLOCK, Taken
from sim.cycle.trails import Groups
from sim.cycle.walks import Masks

ROW_ANSWER = BANK_LATENCY + 1
"""The cycles from a word's grant to its first slice: bank, queue."""
ROW_FREED = 1
"""The cycles from a write to the first slice of the word that takes its room."""
BEFORE = -(1 << 40)
"""A cycle long before any program."""


@dataclass(frozen=True, slots=True)
class RowPace:
    """The cycles between the passes over a row: to the beginning of each stage, and there from row to row."""

    reduced: int
    """The cycles from the last slice of the first pass to the row's sums."""
    first: int
    second_after: int
    second: int
    prepared: int
    """The cycles from the beginning of the second stage to the first slice of results."""

    @classmethod
    def of(cls, config: MachineConfig, slices: int, softmax: bool) -> RowPace:
        """The pace for rows of ``slices`` slices each."""
        stages = (config.row_lanes - 1).bit_length()
        reduced = ROW_REDUCE + stages + 2
        if softmax:
            return cls(reduced, slices, slices + ROW_TOTAL + stages, ROW_RECIPROCAL + 1, ROW_RECIPROCAL + 1)
        return cls(reduced, ROW_ROOT + 3, ROW_ROOT, ROW_NUMBERS + 1, ROW_NUMBERS + 1)


class Between:
    """The rows between their first pass and their last."""

    def __init__(self, pace: RowPace) -> None:
        self._pace = pace
        self._first = self._second = BEFORE

    def results(self, last: int) -> int:
        """The first cycle in which the results of the next row may begin, whose last slice is taken in cycle ``last``."""
        pace = self._pace
        self._first = max(last + pace.reduced, self._first + pace.first)
        self._second = max(self._first + pace.second_after, self._second + pace.second)
        return self._second + pace.prepared


class Bank:
    """The banks that others take, looked at in blocks as they become known."""

    def __init__(self, groups: Groups) -> None:
        self._groups = groups
        self._begin = self._end = 0
        self._busy: list[int] | None = None

    def free(self, want: int, cycle: int, until: int, taken: Taken) -> int | None:
        """The first cycle from ``cycle`` on in which these banks are free, or None if there is none before ``until``."""
        while cycle < until:
            if not self._begin <= cycle < self._end:
                self._begin, self._end = cycle, min(until, cycle + BLOCK)
                busy = taken(self._groups, cycle, self._end)
                self._busy = None if busy is None else busy.tolist()
            if self._busy is None:
                return cycle
            while cycle < self._end and self._busy[cycle - self._begin] & want:
                cycle += 1
            if cycle < self._end:
                return cycle
        return None


@dataclass(frozen=True, slots=True)
class RowShape:
    """The shape of ROW's work: ``words`` of a row, ``parts`` slices of a word, ``room`` words from first slice to write."""

    words: int
    parts: int
    room: int

    @property
    def pipe(self) -> int:
        """The cycles from the first slice of a word's results to its write."""
        return self.parts - 1 + ROW_EMIT + FIFO

    @classmethod
    def of(cls, config: MachineConfig, words: int) -> RowShape:
        return cls(words, config.row_parts, row_room(config))


class RowContest:
    """Word k is read when its bank is free, after word k - 1 and the last slice of word k - 8. Its slices begin four cycles
    later, behind those of word k - 1; the first of a row not before the row ``ROWS_HELD`` before it has left its place.
    ``Between`` says when a row's results begin. A word of them begins behind the one before it, when there is room for it. It
    is written when its bank is free.
    """

    def __init__(
        self, groups: tuple[Groups, Groups], masks: tuple[Masks, Masks], pace: RowPace, shape: RowShape, first: int, least: int
    ) -> None:  # fmt: skip
        """``first``: the first cycle of the reads; ``least``: the cycle in which all is over if nobody is ever in the way."""
        self._reads, self._writes = (Bank(each) for each in groups)
        self._in, self._out = (each.tolist() for each in masks)
        self._between = Between(pace)
        self._shape, self._least = shape, least
        self._count = len(self._in)
        self._got = [first - 1]
        self._cut: list[int] = []
        """The cycles of first slices; ``_got`` has those of grants behind an entry that is none."""
        self._results: list[int] = []
        """The first cycle in which the results of each row may begin."""
        self._begun: list[int] = []
        self._written: list[int] = []
        self._over: list[int] = []
        """The first cycle in which each row has left its place."""

    @property
    def bound(self) -> int:
        """The cycle in which the work is over if nobody is in the way any more."""
        if not self._written:
            return self._least
        return max(self._least, self._written[-1] + 1 + (self._count - len(self._written)) * self._shape.parts)

    @property
    def over(self) -> bool:
        return len(self._written) == self._count

    @property
    def last_write(self) -> int:
        return self._written[-1]

    def advance(self, until: int, taken_reads: Taken, taken_writes: Taken) -> None:
        """Goes on to that cycle; what others do until then is known."""
        while self._read(until, taken_reads) | self._write(until, taken_writes):
            pass

    def _read(self, until: int, taken: Taken) -> bool:
        """Reads words while there is room and it is known which banks others take; returns whether any was read."""
        shape, moved = self._shape, False
        while True:
            word = len(self._got) - 1
            if word == self._count or word >= len(self._cut) + ROW_ANSWERS:
                return moved
            least = self._got[-1] + 1
            if word >= ROW_ANSWERS:
                least = max(least, self._cut[word - ROW_ANSWERS] + shape.parts)
            cycle = self._reads.free(self._in[word], least, until, taken)
            if cycle is None:
                return moved
            self._got.append(cycle)
            moved = True
            self._slice()

    def _slice(self) -> None:
        """Cuts words that have come into slices, while there is room for their rows."""
        shape = self._shape
        while len(self._cut) < len(self._got) - 1:
            word = len(self._cut)
            row, place = divmod(word, shape.words)
            begin = self._got[word + 1] + ROW_ANSWER
            if word:
                begin = max(begin, self._cut[-1] + shape.parts)
            if place == 0 and row >= ROWS_HELD:
                if row - ROWS_HELD >= len(self._over):
                    return
                begin = max(begin, self._over[row - ROWS_HELD])
            self._cut.append(begin)
            if place == shape.words - 1:
                self._results.append(self._between.results(begin + shape.parts - 1))

    def _write(self, until: int, taken: Taken) -> bool:
        """Writes words; returns whether any was written."""
        shape, moved = self._shape, False
        while True:
            word = len(self._written)
            row, place = divmod(word, shape.words)
            if row == len(self._results):
                return moved
            begin = self._results[row] if place == 0 else 0
            if word:
                begin = max(begin, self._begun[-1] + shape.parts)
            if word >= shape.room:
                begin = max(begin, self._written[word - shape.room] + ROW_FREED)
            least = begin + shape.pipe
            if word:
                least = max(least, self._written[-1] + 1)
            cycle = self._writes.free(self._out[word], least, until, taken)
            if cycle is None:
                return moved
            self._begun.append(begin)
            self._written.append(cycle)
            moved = True
            if place == shape.words - 1:
                self._over.append(begin + shape.parts)
                self._slice()
