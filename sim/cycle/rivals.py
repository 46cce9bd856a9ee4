"""Units that want the same banks. The unit that comes later in the order of the feature map waits.

Units in other bank groups can meet in a phase, too, if they share a way. They then fall out of step and go on as before. This
cost is left out: it is less than the uncertainty about LOAD's words, and following it would take as long again.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from sim.cycle.trails import Groups

NEARBY = 32
"""Instructions that run at the same time lie within so many of each other: the queues hold no more."""


@dataclass(frozen=True, slots=True)
class Use:
    """The bank groups that an instruction reads and writes."""

    reads: Groups
    writes: Groups
    reads_b: Groups = 0
    """The bank groups of the second operand of MISC."""


IDLE = Use(0, 0)


def contended(uses: Sequence[Use], units: Sequence[int | None], order: Sequence[int]) -> list[tuple[bool, bool]]:
    """Whether a unit that goes before an instruction's own wants the same bank groups nearby, for its reads and for its writes.

    ``order``: the units, the one that goes first in front.
    """
    rank = {unit: place for place, unit in enumerate(order)}
    blocks = -(-len(uses) // NEARBY) + 1
    reads = [[0] * (blocks + 1) for _ in order]
    writes = [[0] * (blocks + 1) for _ in order]
    for index, (use, unit) in enumerate(zip(uses, units, strict=True)):
        if unit is not None and use is not IDLE:
            for later in range(rank[unit] + 1, len(order)):
                reads[later][index // NEARBY] |= use.reads | use.reads_b
                writes[later][index // NEARBY] |= use.writes
    found = []
    for index, (use, unit) in enumerate(zip(uses, units, strict=True)):
        if unit is None or use is IDLE:
            found.append((False, False))
            continue
        block, place = index // NEARBY, rank[unit]
        read = reads[place][block - 1] | reads[place][block] | reads[place][block + 1]
        write = writes[place][block - 1] | writes[place][block] | writes[place][block + 1]
        found.append((bool((use.reads | use.reads_b) & read), bool(use.writes & write)))
    return found


def groups(first: int, last: int) -> Groups:
    """The mask of the bank groups from ``first`` to ``last``."""
    return (2 << max(first, last)) - (1 << first)
