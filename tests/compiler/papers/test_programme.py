"""The integer programme against exhaustive search, and where it is stopped early."""

from __future__ import annotations

import random

import pytest

from compiler.memory.tasks import Tasks, Use
from compiler.papers.memory_scheduling.programme import solve
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


def test_pruning_leaves_no_choice_where_there_is_one_order() -> None:
    """Of a chain only the peak is a variable; one task beside it may run in any of the steps."""
    chain = [0, 0b1, 0b10, 0b100]
    uses = tuple(Use(3 + n, 0b11 << n) for n in range(3))
    assert solve(Tasks(tuple(chain), uses, (0,) * 4), range(4)).variables == 1
    beside = Tasks((*chain, 0), uses, (0,) * 5)
    found = solve(beside, range(5))
    assert found.order.peak == found.order.bound == least_peak(beside)
    assert found.variables > 1


@pytest.mark.parametrize("pruned", [True, False], ids=["pruned", "plain"])
def test_storages_of_the_host_and_bytes_of_a_task_alone_are_counted(pruned: bool) -> None:
    """Given before the first task, kept after the last, or neither; touched by one task or by none but kept from the start."""
    for seed in range(30):
        rng = random.Random(seed)
        before = (0, 0, 0b1, 0b11)
        uses = tuple(Use(rng.randint(1, 9), rng.randrange(1, 16), rng.random() < 0.5, rng.random() < 0.5) for _ in range(5))
        extra = tuple(rng.choice([0, 5]) for _ in before)
        tasks = Tasks(before, (*uses, Use(2, 0, True, True)), extra)
        order = solve(tasks, tasks.topological, pruned=pruned).order
        assert order.peak == order.bound == tasks.peak(order.tasks) == least_peak(tasks), f"seed {seed}"


def test_a_programme_out_of_time_keeps_the_known_order_and_says_its_bound() -> None:
    tasks = random_tasks(random.Random(1), 40, 0.2)
    order = solve(tasks, tasks.topological, seconds=0.01).order
    assert sorted(order.tasks) == list(range(40))
    assert order.bound <= order.peak <= tasks.peak(tasks.topological)


def test_nothing_and_one_task() -> None:
    assert solve(Tasks((), (), ()), ()).order.peak == 0
    assert solve(Tasks((0,), (Use(5, 1),), (2,)), (0,)).order.peak == 7
