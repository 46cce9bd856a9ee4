"""Program order: by the time at which each instruction could start, so that loads run ahead."""

from __future__ import annotations

from collections.abc import Sequence

from compiler.schedule.instruction import Pending
from isa.instructions import Unit


def start_order(program: Sequence[Pending], needs: Sequence[dict[Unit, int]]) -> list[int]:
    """Indices in the order of their earliest start, with units in order and queues without end.

    A dependence's giver ends, hence starts, before its taker, and units keep their order: the result is
    again a sequential program, and since the dispatcher meets instructions in the order in which they
    can start, a full queue seldom holds up another unit.
    """
    free = dict.fromkeys(Unit, 0)
    starts: list[int] = []
    ends: list[int] = []
    for pending, need in zip(program, needs, strict=True):
        start = max([free[pending.unit], *(ends[giver] for giver in need.values())])
        starts.append(start)
        ends.append(start + max(1, pending.cycles))
        free[pending.unit] = ends[-1]
    return sorted(range(len(program)), key=lambda i: (starts[i], i))
