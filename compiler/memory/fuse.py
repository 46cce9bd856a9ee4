"""Iterative graph fusion that keeps the optimum: tasks that some best order runs one right after the other become one task.

Tasks may be fused under two conditions. No other task decides when they run (``_alone``). And stopping between them does not
pay. Let ``f`` be the bytes that they have in use of their own. Stopping does not pay in three cases:

- *hill*: between them ``f`` is never below its first and its last value. Tasks in between might as well run before or after,
  so all of them move to the peak.
- *rise*: between them ``f`` is never below its first value, and the last task has the peak. All move to the last.
- *fall*: between them ``f`` is never below its last value, and the first task has the peak. All move to the first.

For a chain, *rise* and *fall* are theorem IV.1 of memory-aware scheduling, and *hill* is IV.2. Here stopping is judged over all
closed sets of the tasks, so sets with branches are safe, too. Storages that they read may have other readers, which may run
earlier or later. So ``f`` is compared with its first value as if the tasks were the last readers, and with its last value as if
they were not. Fusion is repeated until it finds nothing more.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from compiler.memory.exact_order import least_order
from compiler.memory.tasks import Mask, Tasks, Use, members
from compiler.tuned import MOST_FUSED_SETS as _MOST_SETS
from compiler.tuned import MOST_FUSED_TASKS as MOST_TASKS


@dataclass(frozen=True)
class Fused:
    """Tasks that stand for original ones. ``inside``: the original tasks of each, in their order."""

    tasks: Tasks
    inside: tuple[tuple[int, ...], ...]

    def expanded(self, order: tuple[int, ...]) -> tuple[int, ...]:
        return tuple(task for number in order for task in self.inside[number])


@dataclass(frozen=True)
class _Fusion:
    mask: Mask
    order: tuple[int, ...]
    extra: int


def fuse(tasks: Tasks) -> Fused:
    fused = Fused(tasks, tuple((task,) for task in range(len(tasks))))
    while True:
        found = _disjoint(fused.tasks)
        if not found:
            return fused
        fused = _contracted(fused, found)


def _disjoint(tasks: Tasks) -> list[_Fusion]:
    """Finds fusions that share no task. No fusion affects another, for each leaves the order of other tasks as it is."""
    found: list[_Fusion] = []
    taken = 0
    tried: set[Mask] = set()
    for mask in _candidates(tasks):
        if mask & taken or mask in tried:
            continue
        tried.add(mask)
        fusion = _fusion(tasks, mask)
        if fusion is not None:
            found.append(fusion)
            taken |= mask
    return found


def _candidates(tasks: Tasks) -> Iterator[Mask]:
    """The sets of all tasks between two tasks, with and without these two."""
    for first in tasks.topological:
        near, edge = 0, tasks.after[first]
        while edge and near.bit_count() < 4 * MOST_TASKS:
            near |= edge
            following = 0
            for task in members(edge):
                following |= tasks.after[task]
            edge = following & ~near
        below = tasks.descendants[first]
        between = sorted((below & tasks.ancestors[last] | 1 << last, last) for last in members(near))
        for inner, last in sorted(between, key=lambda pair: pair[0].bit_count()):
            if inner.bit_count() <= MOST_TASKS + 1:
                for mask in (inner | 1 << first, inner, inner & ~(1 << last) | 1 << first, inner & ~(1 << last)):
                    if 2 <= mask.bit_count() <= MOST_TASKS:
                        yield mask


def _alone(tasks: Tasks, mask: Mask) -> tuple[Tasks, Tasks] | None:
    """The tasks of the set by themselves, once as the last readers of all that they read, and once not as the last.

    None: other tasks matter to the set. A task before one of the set must come before all of it, and a task after one must come
    after all. Other tasks may only touch a use of the set that is in use before it.
    """
    earlier = later = ~0
    needed = wanted = 0
    for task in members(mask):
        earlier &= tasks.ancestors[task] | mask
        later &= tasks.descendants[task] | mask
        needed |= tasks.before[task]
        wanted |= tasks.after[task]
    earlier, later = earlier & ~mask, later & ~mask
    if needed & ~mask & ~earlier or wanted & ~mask & ~later:
        return None
    place = {task: number for number, task in enumerate(members(mask))}
    last: list[Use] = []
    not_last: list[Use] = []
    for number in sorted({number for task in place for number in tasks.touched[task]}):
        use = tasks.uses[number]
        others = use.tasks & ~mask
        given, outlives = use.given or bool(others & earlier), use.outlives or bool(others & later)
        any_time = bool(others & ~(earlier | later))
        if any_time and not given:
            return None
        own = _moved(use.tasks & mask, place)
        last.append(Use(use.size, own, given, outlives))
        not_last.append(Use(use.size, own, given, outlives or any_time))
    before = tuple(_moved(tasks.before[task] & mask, place) for task in place)
    extra = tuple(tasks.extra[task] for task in place)
    return Tasks(before, tuple(last), extra), Tasks(before, tuple(not_last), extra)


def _fusion(tasks: Tasks, mask: Mask) -> _Fusion | None:
    found = _alone(tasks, mask)
    if found is None:
        return None
    last, not_last = found
    first_value, last_value = last.in_use(0), not_last.in_use(not_last.everything)
    stops = _stops(last)
    if stops is None:
        return None
    not_below_first = all(last.in_use(done) >= first_value for done in stops)
    not_below_last = all(not_last.in_use(done) >= last_value for done in stops)
    if not (not_below_first or not_below_last):
        return None
    order = least_order(not_last)
    hill = not_below_first and not_below_last and least_order(last).bound == order.peak
    ends = [task for task in range(len(last)) if not last.after[task]]
    starts = [task for task in range(len(last)) if not last.before[task]]
    rise = not_below_first and all(_running(last, last.everything & ~(1 << task), task) >= order.peak for task in ends)
    fall = not_below_last and all(_running(last, 0, task) >= order.peak for task in starts)
    if not order.proven or not (hill or rise or fall):
        return None
    peak = max(_running(not_last, done, task) for done, task in _steps(order.tasks))
    begun = sum(use.size for use in last.uses if use.outlives and not use.given)
    names = list(members(mask))
    return _Fusion(mask, tuple(names[task] for task in order.tasks), peak - first_value - begun)


def _running(tasks: Tasks, done: Mask, task: int) -> int:
    return tasks.while_running(done, task, tasks.in_use(done))


def _steps(order: tuple[int, ...]) -> Iterator[tuple[Mask, int]]:
    done = 0
    for task in order:
        yield done, task
        done |= 1 << task


def _stops(tasks: Tasks) -> list[Mask] | None:
    """The closed sets of some but not all tasks. None: there are too many."""
    seen = {0}
    waiting = [0]
    while waiting:
        done = waiting.pop()
        for task in members(tasks.everything & ~done):
            past = done | 1 << task
            if not tasks.before[task] & ~done and past not in seen and past != tasks.everything:
                seen.add(past)
                waiting.append(past)
        if len(seen) > _MOST_SETS:
            return None
    return sorted(seen - {0})


def _contracted(fused: Fused, fusions: list[_Fusion]) -> Fused:
    tasks = fused.tasks
    heads = {min(members(fusion.mask)): fusion for fusion in fusions}
    inner = 0
    for fusion in fusions:
        inner |= fusion.mask
    place: dict[int, int] = {}
    rows: list[tuple[Mask, int, tuple[int, ...]]] = []
    for task in range(len(tasks)):
        if task in heads:
            fusion = heads[task]
            place |= dict.fromkeys(fusion.order, len(rows))
            rows.append((fusion.mask, fusion.extra, tuple(t for n in fusion.order for t in fused.inside[n])))
        elif not inner >> task & 1:
            place[task] = len(rows)
            rows.append((1 << task, tasks.extra[task], fused.inside[task]))
    before = []
    for number, (mask, _, _) in enumerate(rows):
        needed = 0
        for task in members(mask):
            needed |= tasks.before[task]
        before.append(_moved(needed, place) & ~(1 << number))
    within = [fusion.mask for fusion in fusions]
    uses = tuple(
        Use(use.size, _moved(use.tasks, place), use.given, use.outlives)
        for use in tasks.uses
        if use.given or use.outlives or all(use.tasks & ~mask for mask in within)
    )
    return Fused(Tasks(tuple(before), uses, tuple(row[1] for row in rows)), tuple(row[2] for row in rows))


def _moved(mask: Mask, place: dict[int, int]) -> Mask:
    moved = 0
    for task in members(mask):
        moved |= 1 << place[task]
    return moved
