"""The lowest closed set between two, against all closed sets."""

from __future__ import annotations

import random

from compiler.memory.tasks import Tasks
from compiler.memory.valley import lowest_between
from tests.compiler.memory.task_graphs import nested_tasks, random_tasks


def closed_sets(tasks: Tasks, low: int, high: int) -> set[int]:
    found = {low}
    waiting = [low]
    while waiting:
        done = waiting.pop()
        for task in range(len(tasks)):
            past = done | 1 << task
            if high >> task & 1 and past not in found and not tasks.before[task] & ~done:
                found.add(past)
                waiting.append(past)
    return found


def test_the_lowest_of_all_closed_sets_is_found() -> None:
    strictly = 0
    for seed in range(60):
        rng = random.Random(seed)
        near = rng.choice([0.15, 0.35, 0.6])
        tasks = nested_tasks(rng, 2) if seed % 3 == 0 else random_tasks(rng, rng.randint(1, 10), near)
        sets = sorted(closed_sets(tasks, 0, tasks.everything))
        for _ in range(20):
            low, high = rng.choice(sets), rng.choice(sets)
            low &= high
            between = closed_sets(tasks, low, high)
            least = min(map(tasks.in_use, between))
            found = lowest_between(tasks, low, high)
            assert found in between, f"seed {seed}"
            assert tasks.in_use(found) == least, f"seed {seed}"
            assert found == high or tasks.in_use(high) > least, f"seed {seed}"
            strictly += found not in (low, high)
    assert strictly > 20
