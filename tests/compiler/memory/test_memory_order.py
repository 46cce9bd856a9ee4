"""Orders of least memory against all closed sets, with and without fusion."""

from __future__ import annotations

import random

import pytest

from compiler.memory.exact_order import least_order, lower_bound
from compiler.memory.fuse import fuse
from compiler.memory.least_order import memory_order
from compiler.memory.tasks import Tasks, Use
from tests.compiler.memory.task_graphs import least_peak, nested_tasks, random_tasks, wired_tasks

CASES = 2000


def drawn(seed: int) -> Tasks:
    rng = random.Random(seed)
    if seed % 4 == 0:
        return next(t for t in iter(lambda: nested_tasks(rng, 3), None) if len(t) <= 14)
    return random_tasks(rng, rng.randint(1, 9), rng.choice([0.15, 0.35, 0.6]))


def test_the_least_order_of_random_graphs_is_that_of_exhaustive_search() -> None:
    for seed in range(CASES):
        tasks = drawn(seed)
        order = least_order(tasks)
        assert order.peak == order.bound == tasks.peak(order.tasks) == least_peak(tasks), f"seed {seed}"
        assert lower_bound(tasks) <= order.peak, f"seed {seed}"


def any_order(tasks: Tasks, seed: int) -> list[int]:
    rng = random.Random(seed)
    found: list[int] = []
    done = 0
    while len(found) < len(tasks):
        task = rng.choice([n for n in range(len(tasks)) if not done >> n & 1 and not tasks.before[n] & ~done])
        found.append(task)
        done |= 1 << task
    return found


def test_stretches_of_a_known_order_stay_where_they_need_no_more() -> None:
    """Between places at which the same tasks have run, the order is the known one, unless that would need more."""
    changed = kept = 0
    for seed in range(400):
        tasks = drawn(seed)
        known = any_order(tasks, seed)
        found = memory_order(tasks, known)
        assert sorted(found.tasks) == list(range(len(tasks))), f"seed {seed}"
        assert found.peak == tasks.peak(found.tasks) == least_peak(tasks), f"seed {seed}"
        begin = done = past = 0
        for place, (one, other) in enumerate(zip(known, found.tasks, strict=True), 1):
            done |= 1 << one
            past |= 1 << other
            if done == past:
                stretch = known[begin:place]
                if list(found.tasks[begin:place]) == stretch:
                    kept += 1
                else:
                    before = sum(1 << task for task in known[:begin])
                    assert tasks.peak(stretch, before) > found.peak, f"seed {seed}"
                    changed += 1
                begin = place
    assert min(changed, kept) > 50


def test_a_known_order_is_left_for_a_better_one_alone() -> None:
    better = 0
    for seed in range(300):
        tasks = drawn(seed)
        known = any_order(tasks, seed)
        order = least_order(tasks, known=known)
        assert order.peak == order.bound == tasks.peak(order.tasks) == least_peak(tasks), f"seed {seed}"
        assert (order.tasks == tuple(known)) == (order.peak == tasks.peak(known)), f"seed {seed}"
        better += order.peak < tasks.peak(known)
        some = least_order(tasks, most_states=2, known=known)
        assert some.bound <= order.peak <= some.peak == tasks.peak(some.tasks) <= tasks.peak(known), f"seed {seed}"
    assert better > 30


def test_fusion_keeps_the_optimum_of_random_graphs() -> None:
    tasks_in_all = fused_in_all = 0
    for seed in range(CASES):
        tasks = drawn(seed)
        fused = fuse(tasks)
        order = least_order(fused.tasks)
        assert order.peak == tasks.peak(fused.expanded(order.tasks)) == least_peak(tasks), f"seed {seed}"
        tasks_in_all += len(tasks)
        fused_in_all += len(fused.tasks)
    assert fused_in_all < 0.85 * tasks_in_all


def test_the_peak_is_what_a_plain_account_of_lifetimes_says() -> None:
    for seed in range(30):
        tasks = random_tasks(random.Random(seed), 8)
        order = least_order(tasks).tasks
        place = {task: time for time, task in enumerate(order)}
        most = 0
        for time, task in enumerate(order):
            in_use = tasks.extra[task]
            for use in tasks.uses:
                times = [place[n] for n in range(8) if use.tasks >> n & 1]
                begin = 0 if use.given else min(times)
                end = 7 if use.outlives else max(times)
                in_use += use.size if begin <= time <= end else 0
            most = max(most, in_use)
        assert most == tasks.peak(order)


@pytest.mark.slow
def test_a_chain_of_thousands_of_tasks_is_one_task() -> None:
    count = 3000
    before = tuple(0 if n == 0 else 1 << n - 1 for n in range(count))
    uses = tuple(Use(1 + n % 7, 1 << n | (1 << n + 1 if n + 1 < count else 0)) for n in range(count))
    tasks = Tasks(before, uses, (0,) * count)
    fused = fuse(tasks)
    assert len(fused.tasks) == 1
    assert memory_order(tasks, range(count)).peak == 7 + 6


def test_the_known_order_stays_where_it_is_as_good() -> None:
    """Two chains side by side: any order of equal tasks is as good."""
    tasks = Tasks((0, 0, 1, 2), tuple(Use(1, mask) for mask in (0b101, 0b1010)), (0,) * 4)
    assert memory_order(tasks, (0, 2, 1, 3)).tasks == (0, 2, 1, 3)
    assert memory_order(tasks, (1, 3, 0, 2)).tasks == (1, 3, 0, 2)


def test_only_what_is_worse_is_moved() -> None:
    """Four equal tasks of two rounds: in the second one both results are held at once, which need not be."""
    small = [Use(1, 0b11 << n) for n in range(3)]
    large = [Use(9, 1 << 4 | 1 << 6), Use(9, 1 << 5 | 1 << 7)]
    tasks = Tasks((0, 1, 2, 4, 8, 8, 16, 32), (*small, *large), (0,) * 8)
    order = memory_order(tasks, range(8))
    assert order.peak == order.bound == 9
    assert order.tasks[:4] == (0, 1, 2, 3)


def test_graphs_without_tasks_of_one_and_of_parts_that_share_nothing() -> None:
    assert least_order(Tasks((), (), ())).peak == 0
    assert least_order(Tasks((0,), (Use(5, 1),), (2,))).peak == 7
    apart = Tasks((0, 0, 1, 2), (Use(4, 0b101), Use(6, 0b1010)), (0,) * 4)
    assert memory_order(apart, range(4)).peak == least_peak(apart) == 6


def test_a_peak_that_is_needed_anyway_is_kept_to_without_looking_at_all_states() -> None:
    """Below it nearly every closed set of a randomly wired graph can be reached; the way to the end is what is wanted."""
    free = least_order(wired_tasks(32, 3))
    bound = wired_tasks(32, 3, free.peak)
    assert least_order(bound, most_states=400).proven
    assert not least_order(wired_tasks(32, 3), most_states=400).proven


def test_states_that_run_out_leave_an_order_and_its_gap() -> None:
    tasks = random_tasks(random.Random(7), 14, 0.2)
    order = least_order(tasks, most_states=3)
    assert sorted(order.tasks) == list(range(14))
    assert order.bound <= least_order(tasks).peak <= order.peak == tasks.peak(order.tasks)


def test_with_few_states_the_parts_of_a_graph_are_ordered() -> None:
    better = 0
    for seed in range(6):
        tasks = wired_tasks(60, seed)
        known = any_order(tasks, seed)
        order = memory_order(tasks, known, most_states=300)
        assert sorted(order.tasks) == list(range(60))
        assert order.bound <= order.peak == tasks.peak(order.tasks) <= tasks.peak(known)
        better += order.peak < min(least_order(tasks, most_states=300).peak, tasks.peak(known))
    assert better > 0


def test_an_order_that_cannot_run_is_refused() -> None:
    tasks = Tasks((0, 1), (Use(1, 0b11),), (0, 0))
    with pytest.raises(ValueError, match="task 1 cannot run"):
        tasks.peak((1, 0))
    with pytest.raises(ValueError, match="wait for each other"):
        _ = Tasks((2, 1), (), (0, 0)).topological
