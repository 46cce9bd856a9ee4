"""The integer programme against exhaustive search, and where it is stopped early."""

from __future__ import annotations

import random

import pytest

from compiler.memory.programme import solve
from compiler.memory.tasks import Tasks, Use
from tests.compiler.memory.task_graphs import least_peak, nested_tasks, random_tasks


@pytest.mark.parametrize("pruned", [True, False], ids=["pruned", "plain"])
@pytest.mark.parametrize("seed", range(25))
def test_the_programme_finds_and_proves_the_least_peak(seed: int, pruned: bool) -> None:
    rng = random.Random(seed)
    tasks = random_tasks(rng, rng.randint(1, 8), rng.choice([0.15, 0.35, 0.6]))
    order = solve(tasks, tasks.topological, pruned=pruned).order
    assert order.peak == order.bound == tasks.peak(order.tasks) == least_peak(tasks)


def test_pruning_leaves_fewer_variables() -> None:
    tasks = nested_tasks(random.Random(3), 2)
    pruned, plain = (solve(tasks, tasks.topological, pruned=pruned) for pruned in (True, False))
    assert pruned.variables < plain.variables
    assert pruned.order.peak == plain.order.peak


def test_a_programme_out_of_time_keeps_the_known_order_and_says_its_bound() -> None:
    tasks = random_tasks(random.Random(1), 40, 0.2)
    order = solve(tasks, tasks.topological, seconds=0.01).order
    assert sorted(order.tasks) == list(range(40))
    assert order.bound <= order.peak <= tasks.peak(tasks.topological)


def test_nothing_and_one_task() -> None:
    assert solve(Tasks((), (), ()), ()).order.peak == 0
    assert solve(Tasks((0,), (Use(5, 1),), (2,)), (0,)).order.peak == 7
