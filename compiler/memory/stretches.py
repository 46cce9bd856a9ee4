"""Memory-aware partitioning for graphs that are too large to be ordered exactly in one piece.

An order is cut where little is in use. Each part is ordered by itself, between what is in use before it and after it. A cut
costs nothing where only those bytes are in use that must be; cuts of least memory tend to be such cuts. Parts that stay below
the peak of other parts need not be ordered.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise

from compiler.memory.exact_order import least_order
from compiler.memory.tasks import Mask, Tasks, Use, members
from compiler.tuned import PART


def partitioned_order(tasks: Tasks, known: Sequence[int], most_states: int, part: int = PART) -> tuple[int, ...]:
    """An order that needs no more than the known one. The known order is cut where the least is in use."""

    def exactly(alone: Tasks) -> Sequence[int]:
        return least_order(alone, most_states, range(len(alone))).tasks

    return ordered_parts(tasks, known, cheap_cuts(tasks, known, part), exactly)


def ordered_parts(
    tasks: Tasks, known: Sequence[int], cuts: Sequence[int], solve: Callable[[Tasks], Sequence[int]]
) -> tuple[int, ...]:
    """The known order with each stretch between two cuts ordered by itself. Stretches of high peak are ordered first.

    ``solve``: finds an order of the tasks of a stretch. The known order of them is 0, 1, 2, ...
    """
    stretches = {begin: tuple(known[begin:end]) for begin, end in pairwise([0, *cuts, len(known)])}
    done: dict[int, Mask] = {}
    past = 0
    for begin, stretch in stretches.items():
        done[begin] = past
        past |= sum(1 << task for task in stretch)
    settled = 0
    for begin in sorted(stretches, key=lambda start: -tasks.peak(stretches[start], done[start])):
        stretch = stretches[begin]
        if tasks.peak(stretch, done[begin]) <= settled:
            break
        alone, names = _part(tasks, done[begin], stretch)
        stretches[begin] = tuple(names[task] for task in solve(alone))
        settled = max(settled, tasks.peak(stretches[begin], done[begin]))
    return tuple(task for stretch in stretches.values() for task in stretch)


def cheap_cuts(tasks: Tasks, known: Sequence[int], part: int) -> list[int]:
    """The places to cut, no more than ``part`` tasks apart. The sum of the bytes in use at the cuts is the least."""
    in_use = [tasks.in_use(0)]
    done = 0
    for task in known:
        in_use.append(tasks.after_running(done, task, in_use[-1]))
        done |= 1 << task
    best = [0]
    came: list[int] = [0]
    for place in range(1, len(known) + 1):
        from_where = min(range(max(0, place - part), place), key=lambda other: (best[other], other))
        best.append(best[from_where] + in_use[place])
        came.append(from_where)
    cuts = []
    place = came[len(known)]
    while place > 0:
        cuts.append(place)
        place = came[place]
    return cuts[::-1]


def _part(tasks: Tasks, done: Mask, stretch: Sequence[int]) -> tuple[Tasks, tuple[int, ...]]:
    """The tasks of a stretch by themselves, and their numbers in the whole.

    A use that tasks before the stretch began is given; one that tasks after it touch outlives it.
    """
    names = tuple(stretch)
    place = {task: number for number, task in enumerate(names)}
    mask = sum(1 << task for task in names)
    past = done | mask
    before = tuple(sum(1 << place[other] for other in members(tasks.before[task] & mask)) for task in names)
    uses = []
    for use in tasks.uses:
        given = use.given or bool(use.tasks & done)
        outlives = use.outlives or bool(use.tasks & ~past)
        if use.tasks & mask or (given and outlives):
            own = sum(1 << place[task] for task in members(use.tasks & mask))
            uses.append(Use(use.size, own, given, outlives))
    return Tasks(before, tuple(uses), tuple(tasks.extra[task] for task in names)), names
