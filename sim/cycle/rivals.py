"""Units that want the same banks: the one that comes later in the order of the feature map is slowed down."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from math import ceil

from sim.cycle.steps import Steps, lost

Groups = int
"""Bank groups as a mask: those that an instruction reads or writes."""
KEPT = 8
"""Instructions whose time is remembered: as many as can be in a unit."""
NEARBY = 32
"""Instructions within which two must lie to run at the same time: what the queues hold."""


@dataclass(frozen=True, slots=True)
class Use:
    """What an instruction asks of the feature maps in a cycle of its work."""

    reads: Groups
    read_rate: float
    """Words per cycle."""
    writes: Groups
    write_rate: float
    reads_b: Groups = 0
    """Of the second operand of MISC."""
    steps: Steps | None = None
    """How it walks over the banks, if that is known."""


IDLE = Use(0, 0.0, 0, 0.0)


@dataclass(frozen=True, slots=True)
class Span:
    """When an instruction works."""

    first: float
    end: float
    use: Use


class Occupation:
    """The last instructions of a unit."""

    def __init__(self) -> None:
        self.spans: deque[Span] = deque(maxlen=KEPT)

    def add(self, first: float, end: float, use: Use) -> None:
        self.spans.append(Span(first, end, use))


def end_of(start: int, cycles: int, use: Use, banks: int, spans: Iterable[Span]) -> int:
    """The cycle after work that begins at ``start`` and would take ``cycles`` alone, beside units that go first.

    While a rival uses the same bank groups it takes its share of their ``banks``: a word finds its bank free as often
    as the rivals leave it. How both walk over the banks says more, if it is known.
    """
    met: list[tuple[float, float, float, float]] = []
    for span in spans:
        if span.end > start:
            met_reads = max(_share(use.reads, span.use.reads), _share(use.reads_b, span.use.reads))
            read = met_reads * _taken(use, span.use, banks)
            write = _share(use.writes, span.use.writes) * span.use.write_rate / banks
            if read or write:
                met.append((span.first, span.end, read, write))
    if not met:
        return start + cycles
    now, left = float(start), float(cycles)
    for change in sorted({time for first, end, _, _ in met for time in (first, end) if time > start}):
        here = [(read, write) for first, end, read, write in met if first <= now < end]
        free_reads = 1.0 - sum(read for read, _ in here)
        free_writes = 1.0 - sum(write for _, write in here)
        speed = max(0.0, min(1.0, free_reads, free_writes / use.write_rate if use.write_rate else 1.0))
        if speed * (change - now) >= left:
            return ceil(now + left / speed)
        left -= speed * (change - now)
        now = change
    return ceil(now + left)


def _taken(own: Use, rival: Use, banks: int) -> float:
    """The share of cycles in which the rival keeps a word of ours waiting, in the same bank group."""
    if own.steps is None or rival.steps is None:
        return rival.read_rate / banks
    return min(rival.read_rate, 1.0) * lost(own.steps, rival.steps)


def contended(uses: Sequence[Use], units: Sequence[int | None], order: Sequence[int]) -> list[bool]:
    """For each instruction: does a unit that goes before its own use the same bank groups at about the same time?

    ``order``: the units, the one that goes first in front.
    """
    rank = {unit: place for place, unit in enumerate(order)}
    blocks = -(-len(uses) // NEARBY) + 1
    reads = [[0] * (blocks + 1) for _ in order]
    writes = [[0] * (blocks + 1) for _ in order]
    for index, (use, unit) in enumerate(zip(uses, units, strict=True)):
        if unit is not None:
            for later in range(rank[unit] + 1, len(order)):
                reads[later][index // NEARBY] |= use.reads
                writes[later][index // NEARBY] |= use.writes
    found = []
    for index, (use, unit) in enumerate(zip(uses, units, strict=True)):
        if unit is None:
            found.append(False)
            continue
        block, place = index // NEARBY, rank[unit]
        read = reads[place][block - 1] | reads[place][block] | reads[place][block + 1]
        write = writes[place][block - 1] | writes[place][block] | writes[place][block + 1]
        found.append(bool((use.reads | use.reads_b) & read or use.writes & write))
    return found


def groups(first: int, last: int) -> Groups:
    """The mask of the bank groups from ``first`` to ``last``."""
    return (2 << max(first, last)) - (1 << first)


def _share(own: Groups, others: Groups) -> float:
    """How likely both are in the same group, if each is in one of its own at random."""
    common = own & others
    return common.bit_count() / (own.bit_count() * others.bit_count()) if common else 0.0
