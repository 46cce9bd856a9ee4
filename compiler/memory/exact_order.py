"""Finds the order that needs the least memory, exactly, by a best-first search over closed sets from valley to valley.

A state is the set of tasks that have run. The bytes in use after a closed set are submodular. So a move that leads to no more
bytes in use, without a higher peak than is needed anyway, can be made at once: it raises nothing that comes later. The search
therefore goes from valley to valley. From one valley it looks for a state with no more in use, lowest peak first, and of equal
peaks deepest first. The lowest valley within that state (``valley.py``) is not on a higher way. The search goes there and
forgets all other states. So only the states of one climb are held together, and the peak is both reached and proved.
"""

from __future__ import annotations

import heapq
from collections.abc import Sequence
from dataclasses import dataclass

from compiler.memory.tasks import Mask, Tasks, members
from compiler.memory.valley import lowest_between
from compiler.tuned import MOST_ORDER_STATES as MOST_STATES

MOVES = 8
"""The tasks (those that could run next, and those behind them) that count as one state; a state with more counts as several."""


@dataclass(frozen=True)
class Order:
    """An order of tasks and its peak. No order has a peak below ``bound``."""

    tasks: tuple[int, ...]
    peak: int
    bound: int

    @property
    def proven(self) -> bool:
        return self.peak == self.bound


def least_order(tasks: Tasks, most_states: int = MOST_STATES, known: Sequence[int] | None = None) -> Order:
    """The order of the least peak. With ``known`` (some order), the search looks only for a better one.

    If the search needs more than ``most_states``, the rest of the order is greedy, and the bound is what was proved by then.
    """
    return _Search(tasks, most_states, known).run()


def lower_bound(tasks: Tasks) -> int:
    """The greatest number of bytes that must be in use while some task runs, whatever the order."""
    best = max(tasks.in_use(0), tasks.in_use(tasks.everything))
    for task in range(len(tasks)):
        own = 1 << task
        past, still = tasks.ancestors[task] | own, tasks.descendants[task] | own
        needed = sum(
            use.size for use in tasks.uses if (use.given or use.tasks & past) and (use.outlives or use.tasks & still)
        )
        best = max(best, needed + tasks.extra[task])
    return best


class _Search:
    def __init__(self, tasks: Tasks, most_states: int, known: Sequence[int] | None) -> None:
        self._tasks = tasks
        self._left = most_states
        self._bound = lower_bound(tasks)
        self._known = tuple(known) if known is not None else None
        self._limit = tasks.peak(known) if known is not None else None

    def run(self) -> Order:
        tasks = self._tasks
        peak = self._bound
        proved = True
        order: list[int] = []
        done, in_use = 0, tasks.in_use(0)
        while done != tasks.everything:
            if self._known is not None and self._limit is not None and peak >= self._limit:
                # A bound that reaches a known order's peak proves that order.
                return Order(self._known, self._limit, self._limit if proved else self._bound)
            found = self._climb(done, in_use, peak)
            if found is None:
                proved = False
                path, reached = self._greedy_step(done, in_use)
            else:
                path, reached = found
                if proved:
                    self._bound = max(self._bound, reached)
            peak = max(peak, reached)
            for task in path:
                in_use = tasks.after_running(done, task, in_use)
                done |= 1 << task
            order += path
        reached = tasks.peak(order)
        if self._known is not None and self._limit is not None and self._limit <= reached:
            return Order(self._known, self._limit, min(self._bound, self._limit))
        return Order(tuple(order), reached, min(self._bound, reached))

    def _climb(self, start: Mask, level: int, peak: int) -> tuple[list[int], int] | None:
        """Finds the way of lowest peak to a state with no more than ``level`` in use, or to the end. None: too many states."""
        tasks = self._tasks
        before, after, everything = tasks.before, tasks.after, tasks.everything
        origin: dict[Mask, tuple[Mask, int]] = {start: (0, -1)}
        cost = {start: peak}
        ready = sum(1 << task for task in members(everything & ~start) if not before[task] & ~start)
        # Among states of equal peak the one that got furthest comes first, so a way is soon found if that peak is enough.
        queue: list[tuple[int, int, int, Mask, Mask]] = [(peak, 0, level, start, ready)]
        while queue:
            highest, _, in_use, done, ready = heapq.heappop(queue)
            if highest > cost[done]:
                continue
            if done != start and (in_use <= level or done == everything):
                lowest = everything if done == everything else lowest_between(tasks, start, done)
                return [task for task in _path(origin, start, done) if lowest >> task & 1], highest
            steps = []
            for task in members(ready):
                running, then = tasks.step(done, task, in_use)
                rise = running if running > highest else highest
                if then <= in_use and rise <= highest:
                    # Doing this first loses nothing, so no other step need be looked at.
                    steps = [(rise, then, task)]
                    break
                steps.append((rise, then, task))
            looked_at = len(steps) + sum(after[task].bit_count() for _, _, task in steps)
            self._left -= 1 + looked_at // MOVES
            if self._left < 0:
                return None
            for rise, then, task in steps:
                past = done | 1 << task
                if past not in cost or rise < cost[past]:
                    cost[past] = rise
                    origin[past] = done, task
                    can = ready & ~(1 << task)
                    for other in members(after[task]):
                        if not before[other] & ~past:
                            can |= 1 << other
                    heapq.heappush(queue, (rise, -past.bit_count(), then, past, can))
        raise AssertionError("the end can always be reached")

    def _greedy_step(self, done: Mask, in_use: int) -> tuple[list[int], int]:
        tasks = self._tasks
        ready = [task for task in members(tasks.everything & ~done) if not tasks.before[task] & ~done]
        task = min(
            ready, key=lambda t: (tasks.after_running(done, t, in_use), tasks.while_running(done, t, in_use), t)
        )
        return [task], tasks.while_running(done, task, in_use)


def _path(origin: dict[Mask, tuple[Mask, int]], start: Mask, end: Mask) -> list[int]:
    path: list[int] = []
    while end != start:
        end, task = origin[end]
        path.append(task)
    return path[::-1]
