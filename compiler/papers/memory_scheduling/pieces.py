"""Memory-aware acyclic partitioning (Algorithm 2 of memory-aware scheduling): ``compile --order pieces``.

    1  fuse tasks as long as the optimum is kept                     (compiler/memory/fuse.py)
    2  order what is left by reverse post-order
    3  cut the graph into acyclic pieces, so that few bytes cross between them
    4  solve the integer programme of each piece that may hold the peak; the others stay in reverse post-order

The paper cuts with dagP, a heuristic. Here a piece is cut in two by an exact least cut: of all closed sets between its first
quarter and its first three quarters, in reverse post-order, the one after which the fewest bytes are in use. No edge leads back
into a closed set, so pieces never wait for each other, and neither side of a cut is smaller than a quarter.
A piece may hold the peak as long as its own peak in reverse post-order is above that of all pieces that are solved.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import accumulate

from compiler.memory.fuse import fuse
from compiler.memory.stretches import ordered_parts
from compiler.memory.tasks import Mask, Tasks, members
from compiler.memory.valley import lowest_between
from compiler.papers.memory_scheduling.programme import SECONDS, solve

MOST_TASKS = 24
"""The most tasks of a piece; the programme of a larger one is seldom solved in its time."""


def order(tasks: Tasks, known: Sequence[int]) -> tuple[int, ...]:
    fused = fuse(tasks)
    found = fused.expanded(in_pieces(fused.tasks))
    return found if tasks.peak(found) < tasks.peak(known) else tuple(known)


def _programme(piece: Tasks) -> Sequence[int]:
    return solve(piece, range(len(piece)), seconds=SECONDS).order.tasks


def in_pieces(
    tasks: Tasks, most_tasks: int = MOST_TASKS, exactly: Callable[[Tasks], Sequence[int]] = _programme
) -> tuple[int, ...]:
    """The order of steps 2 to 4; ``exactly`` returns the best order of one piece."""
    first = reverse_post_order(tasks)
    pieces = [*acyclic_pieces(tasks, first, most_tasks)]
    by_piece = [task for piece in pieces for task in first if piece >> task & 1]
    cuts = [*accumulate(piece.bit_count() for piece in pieces[:-1])]
    found = ordered_parts(tasks, by_piece, cuts, exactly)
    return min(tuple(first), found, key=tasks.peak)


def acyclic_pieces(
    tasks: Tasks, first: Sequence[int], most_tasks: int, low: Mask = 0, high: Mask | None = None
) -> Iterator[Mask]:
    """The pieces of the tasks between two closed sets, each behind all that it needs. ``first`` is some order of all tasks."""
    high = tasks.everything if high is None else high
    inside = [task for task in first if (high & ~low) >> task & 1]
    if len(inside) <= most_tasks:
        if inside:
            yield high & ~low
        return
    quarter = -(-len(inside) // 4)
    least, most = (low | sum(1 << task for task in inside[:end]) for end in (quarter, len(inside) - quarter))
    cut = lowest_between(tasks, least, most)
    yield from acyclic_pieces(tasks, first, most_tasks, low, cut)
    yield from acyclic_pieces(tasks, first, most_tasks, cut, high)


def reverse_post_order(tasks: Tasks) -> list[int]:
    """The order of TensorFlow Lite: depth first from the ends, reversed."""
    order: list[int] = []
    seen: set[int] = set()
    for root in range(len(tasks)):
        stack = [(root, iter(members(tasks.after[root])))] if root not in seen and not tasks.before[root] else []
        seen.update(task for task, _ in stack)
        while stack:
            task, following = stack[-1]
            found = next((other for other in following if other not in seen), None)
            if found is None:
                order.append(task)
                stack.pop()
            else:
                seen.add(found)
                stack.append((found, iter(members(tasks.after[found]))))
    return order[::-1]
