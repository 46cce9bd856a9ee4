"""The tasks that are to be ordered, the storages that they touch, and which task must come before which.

A storage is in use from the first task that touches it to the last. So a map of one maker, the target of a concat that several
tasks fill, a network's input (in use from the start) and its output (in use to the end) are the same kind of thing. Masks stand
for sets of tasks. In a closed set, each task comes with all tasks that must run before it. The bytes in use after a closed set,
and while another task runs, depend on the set alone and not on the order within. All methods here build on that.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

Mask = int


def members(mask: Mask) -> Iterator[int]:
    while mask:
        lowest = mask & -mask
        yield lowest.bit_length() - 1
        mask ^= lowest


@dataclass(frozen=True)
class Use:
    """The use of ``size`` bytes by these tasks. ``given``: in use before the first one. ``outlives``: in use after the last."""

    size: int
    tasks: Mask
    given: bool = False
    outlives: bool = False


@dataclass(frozen=True)
class Tasks:
    """Tasks with their uses. Task ``n`` comes after all of ``before[n]``, and needs ``extra[n]`` more bytes while it runs.

    ``extra`` is negative for a task that stands for several, if no moment of them needs all that they touch.
    """

    before: tuple[Mask, ...]
    uses: tuple[Use, ...]
    extra: tuple[int, ...]

    def __len__(self) -> int:
        return len(self.before)

    @property
    def everything(self) -> Mask:
        return (1 << len(self.before)) - 1

    @cached_property
    def touched(self) -> tuple[tuple[int, ...], ...]:
        """For each task, the numbers of its uses."""
        found: list[list[int]] = [[] for _ in self.before]
        for number, use in enumerate(self.uses):
            for task in members(use.tasks):
                found[task].append(number)
        return tuple(map(tuple, found))

    @cached_property
    def ancestors(self) -> tuple[Mask, ...]:
        """For each task, all tasks that must come before it."""
        found = list(self.before)
        for task in self.topological:
            for other in members(self.before[task]):
                found[task] |= found[other]
        return tuple(found)

    @cached_property
    def descendants(self) -> tuple[Mask, ...]:
        found = [0] * len(self)
        for task in reversed(self.topological):
            for other in members(self.before[task]):
                found[other] |= found[task] | 1 << task
        return tuple(found)

    @cached_property
    def after(self) -> tuple[Mask, ...]:
        """For each task, the tasks that name it in their ``before``."""
        found = [0] * len(self)
        for task, mask in enumerate(self.before):
            for other in members(mask):
                found[other] |= 1 << task
        return tuple(found)

    @cached_property
    def topological(self) -> tuple[int, ...]:
        """An order in which the tasks can run. It keeps to the order of their numbers where possible."""
        order: list[int] = []
        done = 0
        waiting = list(range(len(self.before)))
        while waiting:
            blocked = []
            for task in waiting:
                if self.before[task] & ~done:
                    blocked.append(task)
                else:
                    done |= 1 << task
                    order.append(task)
            if len(blocked) == len(waiting):
                raise ValueError(f"tasks {blocked[:5]} wait for each other")
            waiting = blocked
        return tuple(order)

    def in_use(self, done: Mask) -> int:
        """The bytes in use after the tasks ``done``, a closed set."""
        return sum(
            use.size
            for use in self.uses
            if (use.given or use.tasks & done) and (use.outlives or use.tasks & ~done)
        )

    @cached_property
    def _effects(self) -> tuple[tuple[tuple[Mask, int, bool, bool], ...], ...]:
        """For each task and each of its uses: the other tasks, the size, and whether the use has a begin and an end."""
        return tuple(
            tuple(
                (use.tasks & ~(1 << task), use.size, not use.given, not use.outlives)
                for use in map(self.uses.__getitem__, numbers)
            )
            for task, numbers in enumerate(self.touched)
        )  # fmt: skip

    def step(self, done: Mask, task: int, in_use: int) -> tuple[int, int]:
        """The bytes in use while a task runs after ``done``, and the bytes after it. ``in_use``: those after ``done``."""
        running, then = in_use + self.extra[task], in_use
        for others, size, begins, ends in self._effects[task]:
            if begins and not others & done:
                running += size
                then += size
            if ends and not others & ~done:
                then -= size
        return running, then

    def while_running(self, done: Mask, task: int, in_use: int) -> int:
        return self.step(done, task, in_use)[0]

    def after_running(self, done: Mask, task: int, in_use: int) -> int:
        return self.step(done, task, in_use)[1]

    def peak(self, order: Sequence[int], done: Mask = 0) -> int:
        """The most bytes in use at a time while ``order`` runs after ``done``. The tasks must be able to run in this order."""
        in_use = most = self.in_use(done)
        for task in order:
            if self.before[task] & ~done or done >> task & 1:
                raise ValueError(f"task {task} cannot run after {list(members(done))}")
            running, in_use = self.step(done, task, in_use)
            most = max(most, running)
            done |= 1 << task
        return max(most, in_use)
