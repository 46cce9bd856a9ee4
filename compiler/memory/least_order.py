"""Finds the order of least memory for the steps of a program, and the bytes that it needs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from importlib import import_module

from compiler.memory.exact_order import Order, least_order
from compiler.memory.fuse import fuse
from compiler.memory.lifetimes import Step, lives_of
from compiler.memory.stretches import partitioned_order
from compiler.memory.tasks import Mask, Tasks, Use
from compiler.tuned import MOST_ORDER_STATES as MOST_STATES
from compiler.tuned import PARTS
from compiler.xgraph.graph import XGraph
from isa.errors import TilewrightError
from isa.names import nearest

Ordering = Callable[[Tasks, Sequence[int]], Sequence[int]]
"""Finds an order of tasks. It gets a known order, which it returns if it finds no better one."""


def tasks_of(graph: XGraph, steps: Sequence[Step], needs: Sequence[set[int]], shared: bool = False) -> Tasks:
    """The steps as tasks that touch the storages of WORK. ``needs``: for each step, the steps that it must follow.

    ``shared``: inputs and outputs lie in WORK, too.
    """
    lives = lives_of(graph, steps)
    work = lives.in_work().work if shared else lives.work
    uses = [Use(each.size, _mask((*each.made, *each.read)), each.given, each.outlives) for each in work.values()]
    return Tasks(tuple(map(_mask, needs)), tuple(uses), (0,) * len(steps))


def memory_order(tasks: Tasks, known: Sequence[int], most_states: int = MOST_STATES) -> Order:
    """An order of the least peak that is found. The known order is kept, in full or in stretches, where it is as good."""
    fused = fuse(tasks)
    found = least_order(fused.tasks, most_states)
    order = fused.expanded(found.tasks)
    if not found.proven:
        some = most_states // PARTS
        in_parts = fused.expanded(partitioned_order(fused.tasks, found.tasks, some))
        order = min(order, in_parts, partitioned_order(tasks, known, some), key=tasks.peak)
    peak = tasks.peak(order)
    if tasks.peak(known) <= peak:
        return Order(tuple(known), tasks.peak(known), min(found.bound, tasks.peak(known)))
    return Order(spliced(tasks, known, order, peak), peak, found.bound)


def spliced(tasks: Tasks, known: Sequence[int], order: Sequence[int], peak: int) -> tuple[int, ...]:
    """``order`` with stretches of the known order: where both run the same tasks, and the known one stays within ``peak``."""
    made: list[int] = []
    begin = 0
    old = new = done = 0
    for place, (one, other) in enumerate(zip(known, order, strict=True)):
        old |= 1 << one
        new |= 1 << other
        if old == new:
            stretch = known[begin : place + 1]
            made += stretch if tasks.peak(stretch, done) <= peak else order[begin : place + 1]
            begin, done = place + 1, new
    return tuple(made)


def _mask(numbers: Sequence[int] | set[int]) -> Mask:
    mask = 0
    for number in numbers:
        mask |= 1 << number
    return mask


def _as_given(tasks: Tasks, known: Sequence[int]) -> Sequence[int]:
    return known


def _least(tasks: Tasks, known: Sequence[int]) -> Sequence[int]:
    return memory_order(tasks, known).tasks


def _of_paper(module: str) -> Ordering:
    """An ordering of a paper. Its module is loaded when it is asked for."""

    def ordering(tasks: Tasks, known: Sequence[int]) -> Sequence[int]:
        found: Sequence[int] = import_module(f"compiler.papers.memory_scheduling.{module}").order(tasks, known)
        return found

    return ordering


ORDERINGS: dict[str, Ordering] = {
    "least": _least,
    "given": _as_given,
    "programme": _of_paper("programme"),
    "pieces": _of_paper("pieces"),
}
"""The orderings that ``compile --order`` knows."""


def ordering_of(name: str) -> Ordering:
    if name not in ORDERINGS:
        raise TilewrightError(f"order {name!r}: unknown{nearest(name, ORDERINGS)}; known are {', '.join(ORDERINGS)}")
    return ORDERINGS[name]
