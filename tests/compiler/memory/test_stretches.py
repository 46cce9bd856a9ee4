"""Orders of graphs in parts: never worse than the known order, and seldom worse than the best."""

from __future__ import annotations

import random

from compiler.memory.exact_order import least_order
from compiler.memory.fuse import fuse
from compiler.memory.least_order import memory_order
from compiler.memory.stretches import partitioned_order
from compiler.memory.tasks import Tasks, Use
from tests.compiler.memory.task_graphs import least_peak, nested_tasks, random_tasks


def test_parts_make_an_order_that_is_no_worse_than_the_known_one() -> None:
    for seed in range(100):
        rng = random.Random(seed)
        tasks = random_tasks(rng, rng.randint(1, 10))
        known = tasks.topological
        for part in (1, 3, 10):
            order = partitioned_order(tasks, known, 10**6, part)
            assert sorted(order) == list(range(len(tasks)))
            assert least_peak(tasks) <= tasks.peak(order) <= tasks.peak(known)


def test_one_part_is_exact() -> None:
    for seed in range(60):
        tasks = random_tasks(random.Random(seed), 8)
        assert tasks.peak(partitioned_order(tasks, tasks.topological, 10**6, 8)) == least_peak(tasks)


def test_the_loss_of_parts_is_small() -> None:
    """Over networks of nested branches, fused first, beside the optimum of the whole: 38 of 40 lose nothing."""
    losses = []
    for seed in range(40):
        tasks = nested_tasks(random.Random(seed), 4)
        fused = fuse(tasks)
        order = partitioned_order(fused.tasks, fused.tasks.topological, 10**6, 12)
        losses.append(tasks.peak(fused.expanded(order)) / least_order(fused.tasks).peak - 1)
    assert sum(losses) / len(losses) < 0.03
    assert losses.count(0.0) > 30


def test_a_search_that_runs_out_of_states_falls_back_on_parts() -> None:
    """Many wide stages one after the other: with few states only the parts are ordered well."""
    rng = random.Random(2)
    before: list[int] = [0]
    uses: list[Use] = []
    for _ in range(6):
        entry = len(before) - 1
        firsts = range(entry + 1, entry + 6)
        before += [1 << entry] * 5 + [1 << first for first in firsts]
        uses += [Use(rng.randint(5, 9), 1 << first | 1 << first + 5) for first in firsts]
        uses += [Use(1, 1 << first + 5 | 1 << entry + 11) for first in firsts]
        before.append(sum(1 << first + 5 for first in firsts))
        uses.append(Use(2, sum(1 << first for first in firsts) | 1 << entry))
    tasks = Tasks(tuple(before), tuple(uses), (0,) * len(before))
    best = memory_order(tasks, range(len(tasks)))
    hurried = memory_order(tasks, range(len(tasks)), most_states=40)
    assert hurried.bound <= best.peak == best.bound <= hurried.peak <= tasks.peak(range(len(tasks)))
