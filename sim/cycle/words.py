"""MISC at work beside units that go first: two operands and an output, each word as its bank is free."""

from __future__ import annotations

from collections import deque
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from isa.config import MachineConfig
from isa.depths import MISC_AHEAD, MISC_ANSWERS
from isa.latency import BANK_LATENCY, misc_latency, misc_room
from sim.cycle.contest import BLOCK, Taken
from sim.cycle.trails import Groups, Stretch, Trail
from sim.cycle.walks import Masks, Walk

ASKED = 2
"""The cycles from the grant that makes room among the addresses to the first grant of the word that takes it."""
ANSWER = BANK_LATENCY + 1
"""The cycles from the grant of a word's operands to its first slice: bank, queue."""
FREED = 2
"""The cycles from a write to the first slice of the word that takes its room: what is given back, room."""
STEADY = 24
"""The words in a row without a wait after which all that follow are looked at together."""


WIDTH = np.dtype(np.uint64).itemsize
"""The bytes of a mask."""


class Pace(NamedTuple):
    """The pace at which MISC takes words: a slice in each cycle (``hw/misc/unit.py``)."""

    parts: int
    """The cycles from one word to the next."""
    pipe: int
    """The cycles from the first slice of a word to its write: slices, arithmetic, finish, word, queue."""
    room: int
    """The most words between the first slice and the write."""

    @property
    def held(self) -> int:
        """The words whose cycles are remembered: as many as the next word looks back at."""
        return max(self.room, MISC_ANSWERS, MISC_AHEAD + 1)

    @classmethod
    def of(cls, config: MachineConfig) -> Pace:
        parts = config.misc_parts
        stages = misc_latency(config)
        return cls(parts, parts + stages + 3, misc_room(config))


class WordContest:
    """A word is written when its bank is free after both operands have come. A word that waits holds up those behind it.

    ``a_k`` is the first cycle in which the bank is free, not before ``a_(k-1) + 1``, ``b_(k-4) + 2`` and ``s_(k-8) + parts``.
    For ``b_k`` the same holds with ``a`` and ``b`` exchanged, and ``a`` has precedence in each cycle. The slices begin in
    ``s_k``, not before ``s_(k-1) + parts``, ``max(a_k, b_k) + 4`` and ``w_(k-room) + 2``. ``w_k`` is the first free cycle after
    ``w_(k-1)`` and not before ``s_k + pipe``.
    """

    def __init__(
        self, groups: tuple[Groups, Groups], masks: tuple[Masks, Masks | None, Masks], first: tuple[int, int], pace: Pace,
        free: int = 0,
    ) -> None:  # fmt: skip
        """``groups``: what it reads and what it writes. ``masks``: those of both operands and the output. ``first``: the first
        cycles of both reads. ``free``: the first cycle in which a slice may begin."""
        self._read_groups, self._write_groups = groups
        self._a, self._b, self._o = masks
        self._pace, self._held = pace, pace.held
        self._count = len(self._a)
        self._word = 0
        """The number of words written so far."""
        self._first = max(first)
        self._behind = min(first)
        """The first of the cycles that are looked at."""
        begin = max(self._first + ANSWER, free)
        self._gots, self._others = self._before(first[0] - 1), self._before(first[1] - 1)
        self._begins = self._before(begin - pace.parts)
        self._writes = self._before(begin - pace.parts + pace.pipe)
        """The cycles of grants, first slices and writes. The last entries are those of the word before.

        ``a`` may be ahead by ``MISC_AHEAD`` - 1.
        """
        self._quiet = STEADY if pace.parts == 1 and begin == self._first + ANSWER else 0
        self._walks: tuple[tuple[Walk | None, list[int]], ...] = ()
        self._trails: tuple[deque[Trail], deque[Trail]] = deque(), deque()
        self._left: tuple[int, ...] = (0, 0, 0)
        """The last cycles that its trails tell of."""
        self._told = 0
        """The number of words that its trails tell of."""

    def seen(self, walks: tuple[Walk, Walk | None, Walk], reads: deque[Trail], writes: deque[Trail]) -> None:
        """Makes it leave trails of both operands and of the output."""
        self._walks = tuple(zip(walks, (self._gots, self._others, self._writes), strict=True))
        self._trails = reads, writes
        self._left = tuple(cycles[-1] for _, cycles in self._walks)

    def coming(self) -> list[Trail]:
        """The trails of what it will read, unless it waits."""
        left, step = self._count - self._word, self._pace.parts
        return [
            Stretch(cycles[-1] + 1, cycles[-1] + 1 + left * step, self._read_groups, walk, 1, float(step), self._word)
            for walk, cycles in self._walks[:-1]
            if walk is not None
        ]

    def _leave(self) -> None:
        """Leaves trails of the words since the last ones, as if they had come evenly."""
        count = self._word - self._told
        if not self._walks or not count:
            return
        reads, writes = ((self._read_groups, self._trails[0]), (self._write_groups, self._trails[1]))
        for (walk, cycles), last, (groups, trail) in zip(self._walks, self._left, (reads, reads, writes), strict=True):
            if walk is not None:
                trail.append(Stretch(last + 1, cycles[-1] + 1, groups, walk, 1, (cycles[-1] - last) / count, self._told))
        self._left, self._told = tuple(cycles[-1] for _, cycles in self._walks), self._word

    def _before(self, last: int) -> list[int]:
        """The cycles of words without a wait, the last of them in that cycle."""
        return list(range(last - (self._held - 1) * self._pace.parts, last + 1, self._pace.parts))

    @property
    def bound(self) -> int:
        """The cycle in which the work is over if nobody is in the way any more."""
        left = (self._count - self._word) * self._pace.parts
        return max(self._writes[-1] + 1, self._behind + self._pace.parts - 1) + left

    @property
    def over(self) -> bool:
        return self._word == self._count

    @property
    def last_write(self) -> int:
        return self._writes[-1]

    @property
    def read_over(self) -> tuple[int, int]:
        """The cycles after the last reads of both operands, once the work is over."""
        return self._gots[-1] + 1, self._others[-1] + 1

    @property
    def free(self) -> int:
        """The first cycle in which the slices of another word may begin, once the work is over."""
        return self._begins[-1] + self._pace.parts

    @property
    def last_asked(self) -> int:
        """The cycle in which the last address was asked for, once the work is over."""
        undisturbed = self._first + self._count - ASKED
        if self._count <= MISC_AHEAD:
            return undisturbed
        return max(undisturbed, self._gots[-1 - MISC_AHEAD] + 1, self._others[-1 - MISC_AHEAD] + 1)

    def advance(self, until: int, taken_reads: Taken, taken_writes: Taken) -> None:
        """Goes on to that cycle; what others do until then is known."""
        size = BLOCK
        while not self.over:
            begin = min(self._gots[-1], self._others[-1], self._writes[-1] - self._pace.pipe) + 1
            end = min(until, begin + size)
            if end <= begin:
                return
            before = self._word
            reads = taken_reads(self._read_groups, begin, end)
            writes = taken_writes(self._write_groups, begin, end)
            while not self.over:
                if self._quiet >= STEADY and not self._flow(begin, end, reads, writes):
                    break
                if not self.over and not self._struggle(begin, end, reads, writes):
                    break
            self._behind = end
            if end == until:
                return
            size = BLOCK if self._word > before else 2 * size

    def _flow(self, begin: int, end: int, reads: Masks | None, writes: Masks | None) -> bool:
        """Takes all words that meet nobody, at an even pace; returns False if the cycles are over."""
        word, count, step = self._word, self._count, self._pace.parts
        a, b, s, w = (cycles[-1] + step for cycles in (self._gots, self._others, self._begins, self._writes))
        size = min(-(-(end - w) // step), count - word)
        if size <= 0:
            return False
        free = size
        if reads is not None or writes is not None or self._b is not None:
            meets = np.zeros(size, np.uint64)
            own = self._a[word : word + size]
            if reads is not None:
                meets |= own & reads[a - begin :: step][:size]
            if self._b is not None:
                other = self._b[word : word + size]
                if reads is not None:
                    meets |= other & reads[b - begin :: step][:size]
                first, lead = max(0, a - b) // step, max(0, b - a) // step
                same = min(len(other) - first, len(own) - lead)
                if same > 0 and (a - b) % step == 0:
                    meets[first : first + same] |= other[first : first + same] & own[lead : lead + same]
            if writes is not None:
                meets |= self._o[word : word + size] & writes[w - begin :: step][:size]
            found = np.flatnonzero(meets)
            free = int(found[0]) if len(found) else size
        if free:
            self._word += free
            for grants, first in ((self._gots, a), (self._others, b), (self._begins, s), (self._writes, w)):
                grants[:] = self._before(first + (free - 1) * step)
            self._leave()
        if free < size:
            self._quiet = 0
        return free < size

    def _struggle(self, begin: int, end: int, reads: Masks | None, writes: Masks | None) -> bool:
        """Takes word by word until nothing has waited for a while; returns False if the cycles are over.

        Cycles count from the first that matters, and only the words are given that may come until the end. So the result is
        remembered for the same case elsewhere, and no more is looked at than may be needed.
        """
        histories = (self._gots, self._others, self._begins, self._writes)
        first = max(begin, min(self._gots[-1], self._others[-1], self._writes[-1] - self._pace.pipe) + 1)
        if first >= end:
            return False
        here = slice(self._word, self._word + end - first + MISC_AHEAD)
        words, quiet, found = _follow(
            self._a[here].tobytes(), None if self._b is None else self._b[here].tobytes(), self._o[here].tobytes(), self._pace,
            tuple([tuple([cycle - first for cycle in one]) for one in histories]), end - first,
            None if reads is None else reads[first - begin :].tobytes(),
            None if writes is None else writes[first - begin :].tobytes(), self._quiet,
        )  # fmt: skip
        self._word += words
        self._quiet = quiet
        for grants, cycles in zip(histories, found, strict=True):
            grants[:] = [cycle + first for cycle in cycles]
        self._leave()
        return self.over or quiet >= STEADY


@lru_cache(maxsize=1 << 11)
def _follow(
    a: bytes, b: bytes | None, o: bytes, pace: Pace, histories: tuple[tuple[int, ...], ...], end: int,
    reads: bytes | None, writes: bytes | None, quiet: int,
) -> tuple[int, int, tuple[list[int], ...]]:  # fmt: skip
    """Follows words from cycle 0 on. Returns how many are written before ``end``, how many of the last have not waited, and the
    last cycles."""
    # The bytes are read in place and not copied into lists, since the loop mostly ends after the first few words.
    idle = bytes(WIDTH * end)
    own, output = memoryview(a).cast("Q"), memoryview(o).cast("Q")
    other = None if b is None else memoryview(b).cast("Q")
    busy, busy_writes = memoryview(reads or idle).cast("Q"), memoryview(writes or idle).cast("Q")
    asked = memoryview(bytearray(busy)).cast("Q")
    """The banks that others and the first operand take."""
    gots, others, begins, written = (list(cycles) for cycles in histories)
    last_a, last_b, last_begin, last_write = gots[-1], others[-1], begins[-1], written[-1]
    parts, pipe, room = pace.parts, pace.pipe, pace.room
    most = 1 if other is None else MISC_AHEAD
    count = len(own)
    word = ahead = 0
    # This is the hottest loop of the cycle model, so it has comparisons instead of ``max``.
    while word < count and quiet < STEADY:
        while ahead < most and word + ahead < count:
            now = last_a + 1
            least = others[ahead - MISC_AHEAD] + ASKED
            if least > now:
                now = least
            least = begins[ahead - MISC_ANSWERS] + parts
            if least > now:
                now = least
            want = own[word + ahead]
            while now < end and busy[now] & want:
                asked[now] |= want
                now += 1
            if now >= end:
                break
            asked[now] |= want
            gots.append(now)
            last_a = now
            ahead += 1
        if not ahead:
            break
        got = second = gots[-ahead]
        if other is not None:
            second = last_b + 1
            least = gots[-ahead - MISC_AHEAD] + ASKED
            if least > second:
                second = least
            least = begins[-MISC_ANSWERS] + parts
            if least > second:
                second = least
            want = other[word]
            while second < end and asked[second] & want:
                second += 1
            if second >= end:
                break
        begin = last_begin + parts
        least = (got if got > second else second) + ANSWER
        if least > begin:
            begin = least
        least = written[-room] + FREED
        if least > begin:
            begin = least
        now = begin + pipe
        if now <= last_write:
            now = last_write + 1
        want = output[word]
        while now < end and busy_writes[now] & want:
            now += 1
        if now >= end:
            break
        if now - last_write == begin - last_begin == second - last_b == got - gots[-ahead - 1] == parts:
            quiet += 1
        else:
            quiet = 0
        others.append(second)
        begins.append(begin)
        written.append(now)
        last_b, last_begin, last_write = second, begin, now
        ahead -= 1
        word += 1
    if ahead:
        del gots[-ahead:]
    held = pace.held
    return word, quiet, (gots[-held:], others[-held:], begins[-held:], written[-held:])
