"""Random tasks, and the least peak of any order of them."""

from __future__ import annotations

import random
from functools import cache

from compiler.memory.tasks import Tasks, Use
from compiler.zoo.randwire import watts_strogatz


def random_tasks(rng: random.Random, count: int, near: float = 0.35) -> Tasks:
    """Tasks of one or two results, some of them put together into one storage, beside an input that several read."""
    before = [0] * count
    uses: list[tuple[int, int, bool, bool]] = []
    for maker in range(count):
        for _ in range(1 + (rng.random() < 0.15)):
            readers = [task for task in range(maker + 1, count) if rng.random() < near * min(1, 3 / (task - maker))]
            for reader in readers:
                before[reader] |= 1 << maker
            tasks = sum(1 << reader for reader in readers) | 1 << maker
            uses.append((rng.randint(1, 9), tasks, False, not readers and rng.random() < 0.7))
    if len(uses) > 3 and rng.random() < 0.3:
        one, other = (uses.pop(rng.randrange(len(uses))) for _ in range(2))
        uses.append((one[0] + other[0], one[1] | other[1], False, one[3] or other[3]))
    readers_of_input = sum(1 << task for task in range(count) if task == 0 or rng.random() < 0.3)
    uses.append((rng.randint(1, 9), readers_of_input, True, rng.random() < 0.2))
    extra = tuple(rng.choice([0, 0, 0, rng.randint(0, 4)]) for _ in range(count))
    return Tasks(tuple(before), tuple(Use(*use) for use in uses), extra)


def nested_tasks(rng: random.Random, depth: int) -> Tasks:
    """Chains and branches put into each other, as networks are: most of it can be fused."""
    before: list[int] = []
    uses: list[Use] = []

    def task(needs: set[int]) -> int:
        before.append(sum(1 << number for number in needs))
        return len(before) - 1

    def stretch(entry: int, level: int) -> int:
        """Reads what ``entry`` makes; the last task of it."""
        if level == 0 or rng.random() < 0.2:
            return task({entry})
        if rng.random() < 0.5:
            return stretch(stretch(entry, level - 1), level - 1)
        return task({stretch(entry, level - 1) for _ in range(rng.randint(2, 3))})

    first = task(set())
    stretch(first, depth)
    for maker in range(len(before)):
        readers = sum(1 << reader for reader, needs in enumerate(before) if needs >> maker & 1)
        uses.append(Use(rng.randint(1, 9), readers | 1 << maker, outlives=not readers))
    return Tasks(tuple(before), tuple(uses), (0,) * len(before))


def wired_tasks(nodes: int, seed: int, first: int = 0) -> Tasks:
    """A randomly wired stage, whose first node needs ``first`` maps more while it runs."""
    near = watts_strogatz(nodes, 4, 0.75, seed)
    before = [sum(1 << other for other in near[node] if other < node) for node in range(nodes)]
    readers = [sum(1 << other for other in near[node] if other > node) for node in range(nodes)]
    uses = [Use(1, readers[node] | 1 << node, outlives=not readers[node]) for node in range(nodes)]
    uses.append(Use(4, sum(1 << node for node in range(nodes) if not before[node]), given=True))
    return Tasks(tuple(before), tuple(uses), (first,) + (0,) * (nodes - 1))


def least_peak(tasks: Tasks) -> int:
    """By all closed sets."""

    @cache
    def onwards(done: int) -> int:
        in_use = tasks.in_use(done)
        ways = [
            max(tasks.while_running(done, task, in_use), onwards(done | 1 << task))
            for task in range(len(tasks))
            if not done >> task & 1 and not tasks.before[task] & ~done
        ]
        return max(in_use, min(ways, default=0))

    return onwards(0)
