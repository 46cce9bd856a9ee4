"""MISC at work beside units that go first: two operands and an output, each word by word as its bank is free."""

from __future__ import annotations

from collections import deque

import numpy as np

from sim.cycle.contest import BLOCK, Taken
from sim.cycle.trails import Groups
from sim.cycle.walks import Masks

REQUESTS = 4
"""Addresses that wait for a bank, for each operand (``hw/misc/operand.py``)."""
ANSWERS = 8
"""Words of an operand that are read, or about to be, and not yet used."""
READ = 3
"""From the grant of a word to its use: bank, crossbar, queue."""
PIPE = 11
"""From the use of a word to its write: arithmetic (6), activation (4), queue."""
PIPE_WORDS = 12
"""Words that are used and not yet written."""
SETTLED = PIPE + READ + 2
"""Cycles without a wait after which every part of the unit moves on in every cycle."""


class WordContest:
    """One word per cycle through requests, reads, arithmetic and writes; each part waits for the one before and behind it."""

    def __init__(self, groups: tuple[Groups, Groups], masks: tuple[Masks, Masks | None, Masks], first: int) -> None:
        """``groups``: what it reads and what it writes; ``masks``: of both operands and the output."""
        self.cycle = first
        """The next to be looked at; the first one reads."""
        self.last_write = -1
        self._read_groups, self._write_groups = groups
        self._a, self._o = masks[0], masks[2]
        self._b = masks[1]
        self._count = len(self._a)
        self.last_asked = -1
        """The cycle in which the last address was asked for."""
        self.read_over = first
        """The cycle after the last read."""
        self._asked = 1
        self._got_a = 0
        self._got_b = 0
        self._used = -READ
        self._written = -READ - PIPE
        """Counts of words; below 0 while the pipeline fills."""
        self._flowing = True
        self._quiet = 0
        """Cycles since something waited."""
        self._pending: deque[int] = deque()
        """When the words were used that are not yet written."""
        self._before = [(0, 0), (0, 0)]
        """Words of both operands got before the last cycle, and before the one before."""
        if self._count == 1:
            self.last_asked = first - 1

    @property
    def bound(self) -> int:
        """The cycle in which it is over if nobody is in the way any more."""
        return self.cycle + self._count - self._written

    @property
    def over(self) -> bool:
        return self._written >= self._count

    def advance(self, until: int, taken_reads: Taken, taken_writes: Taken) -> None:
        """Go on to that cycle; what others do until then is known."""
        while self.cycle < until and not self.over:
            end = min(until, self.cycle + BLOCK)
            reads = taken_reads(self._read_groups, self.cycle, end)
            writes = taken_writes(self._write_groups, self.cycle, end)
            begin = self.cycle
            while self.cycle < end and not self.over:
                if self._flowing:
                    self._flow(begin, end, reads, writes)
                if not self._flowing and self.cycle < end and not self.over:
                    self._struggle(begin, end, reads, writes)

    def _flow(self, begin: int, end: int, reads: Masks | None, writes: Masks | None) -> None:
        """Everything moves on by a word per cycle until something meets."""
        size = min(end - self.cycle, self._count - self._written)
        now = self.cycle - begin
        a = _from(self._a, self._got_a, size)
        meets = np.zeros(size, np.uint64)
        if reads is not None:
            meets[: len(a)] |= a & reads[now : now + len(a)]
        if self._b is not None:
            b = _from(self._b, self._got_b, size)
            if reads is not None:
                meets[: len(b)] |= b & reads[now : now + len(b)]
            both = min(len(a), len(b))
            meets[:both] |= a[:both] & b[:both]
        if writes is not None:
            skipped = max(0, -self._written)
            o = _from(self._o, max(0, self._written), max(0, size - skipped))
            meets[skipped : skipped + len(o)] |= o & writes[now + skipped : now + skipped + len(o)]
        found = np.flatnonzero(meets)
        free = int(found[0]) if len(found) else size
        if self._asked < self._count and self._asked + free >= self._count:
            self.last_asked = self.cycle + self._count - self._asked - 1
        for got in (self._got_a, self._got_b if self._b is not None else 0):
            if got < self._count <= got + free:
                self.read_over = max(self.read_over, self.cycle + self._count - got)
        self._asked = min(self._count, self._asked + free)
        self._got_a += free
        self._got_b += free
        self._used += free
        self._written += free
        self.cycle += free
        if self._written > 0:
            self.last_write = self.cycle - 1
        if len(found):
            self._stop()

    def _stop(self) -> None:
        """Count what every part holds, for now something waits."""
        used = self._used
        self._before = [
            (min(self._count, max(0, self._got_a - n)), min(self._count, max(0, self._got_b - n))) for n in (1, 2)
        ]
        self._got_a, self._got_b = min(self._count, self._got_a), min(self._count, self._got_b)
        self._used, self._written = min(self._count, max(0, used)), max(0, self._written)
        self._pending.extend(self.cycle - used + n for n in range(self._written, self._used))
        self._flowing, self._quiet = False, 0

    def _struggle(self, begin: int, end: int, reads: Masks | None, writes: Masks | None) -> None:
        """Cycle by cycle, until nothing has waited for a while."""
        count = self._count
        none = [0] * (end - begin)
        busy_reads = reads.tolist() if reads is not None else none
        busy_writes = writes.tolist() if writes is not None else none
        a, b, o = self._a.tolist(), self._b.tolist() if self._b is not None else None, self._o.tolist()
        asked, got_a, got_b, used, written = self._asked, self._got_a, self._got_b, self._used, self._written
        pending = self._pending
        (a_1, b_1), (a_2, b_2) = self._before
        quiet, now = self._quiet, self.cycle
        while now < end and written < count:
            quiet += 1
            busy = busy_reads[now - begin]
            room = len(pending) < PIPE_WORDS
            if pending and pending[0] + PIPE <= now:
                if busy_writes[now - begin] & o[written]:
                    quiet = 0
                else:
                    written += 1
                    pending.popleft()
                    self.last_write = now
            start_a, start_b, start_used = got_a, got_b, used
            if used < count and used < a_2 and (b is None or used < b_2):
                if room:
                    used += 1
                    pending.append(now)
                else:
                    quiet = 0
            if got_a < asked and got_a - start_used < ANSWERS:
                if busy & a[got_a]:
                    quiet = 0
                else:
                    got_a += 1
                    self.read_over = now + 1
                busy |= a[start_a]
            elif got_a < count:
                quiet = 0
            if b is not None:
                if got_b < asked and got_b - start_used < ANSWERS:
                    if busy & b[got_b]:
                        quiet = 0
                    else:
                        got_b += 1
                        self.read_over = now + 1
                elif got_b < count:
                    quiet = 0
            if asked < count and asked - start_a < REQUESTS and (b is None or asked - start_b < REQUESTS):
                asked += 1
                if asked == count:
                    self.last_asked = now
            a_2, b_2, a_1, b_1 = a_1, b_1, start_a, start_b
            now += 1
            if quiet >= SETTLED:
                break
        self._asked, self._got_a, self._got_b, self._used, self._written = asked, got_a, got_b, used, written
        self._before = [(a_1, b_1), (a_2, b_2)]
        self._quiet, self.cycle = quiet, now
        if quiet >= SETTLED:
            pending.clear()
            self._used = written + PIPE
            self._flowing = True


def _from(masks: Masks, first: int, size: int) -> Masks:
    return masks[first : first + size]
