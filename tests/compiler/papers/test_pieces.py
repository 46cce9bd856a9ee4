"""Algorithm 2 of memory-aware scheduling: acyclic pieces by exact least cuts, and orders that are asked for by name."""

from __future__ import annotations

import random

import pytest

from compiler.emit.steps import memory_tasks
from compiler.memory.least_order import ORDERINGS, ordering_of
from compiler.memory.tasks import Mask, Tasks, members
from compiler.papers.memory_scheduling.pieces import acyclic_pieces, in_pieces, reverse_post_order
from compiler.planning.grouping import one_each
from compiler.planning.plan_partition import plans_of
from compiler.planning.running_order import ordered_groups
from compiler.programs.frugal import in_least_order
from isa.config import preset
from isa.errors import TilewrightError
from tests.compiler.memory.task_graphs import least_peak, random_tasks
from tests.compiler.search.partitions import random_graph


def closed_sets(tasks: Tasks, low: Mask, high: Mask) -> set[Mask]:
    """All between two, one task after the other."""
    found, waiting = {low}, [low]
    while waiting:
        done = waiting.pop()
        for task in members(high & ~done):
            if not tasks.before[task] & ~done and done | 1 << task not in found:
                found.add(done | 1 << task)
                waiting.append(done | 1 << task)
    return found


def test_pieces_hold_each_task_once_and_never_wait_for_a_later_one() -> None:
    for seed in range(20):
        tasks = random_tasks(random.Random(seed), 14)
        first = reverse_post_order(tasks)
        pieces = [*acyclic_pieces(tasks, first, 4)]
        done = 0
        for piece in pieces:
            assert not piece & done
            assert piece.bit_count() <= 4
            for task in members(piece):
                assert not tasks.before[task] & ~(done | piece)
            done |= piece
        assert done == tasks.everything


def test_the_first_cut_leaves_the_fewest_bytes_in_use() -> None:
    """Of all closed sets between the first and the third quarter."""
    for seed in range(20):
        tasks = random_tasks(random.Random(seed), 12)
        first = reverse_post_order(tasks)
        one, _ = acyclic_pieces(tasks, first, 9)
        low, high = (sum(1 << task for task in first[:end]) for end in (3, 9))
        assert tasks.in_use(one) == min(map(tasks.in_use, closed_sets(tasks, low, high)))


@pytest.mark.parametrize("seed", range(12))
def test_one_piece_is_exact_and_several_are_no_worse_than_reverse_post_order(seed: int) -> None:
    tasks = random_tasks(random.Random(seed), 8)
    assert tasks.peak(in_pieces(tasks, 8)) == least_peak(tasks)
    for most in (1, 3):
        found = in_pieces(tasks, most)
        assert sorted(found) == list(range(8))
        assert least_peak(tasks) <= tasks.peak(found) <= tasks.peak(reverse_post_order(tasks))


@pytest.mark.parametrize("name", ORDERINGS)
def test_a_compilation_is_ordered_by_whatever_is_asked_for(name: str) -> None:
    """Each order runs, and needs no more than the given one; both programmes find the least of these small programs."""
    config, gained = preset("nano"), 0
    for seed in range(6):
        graph = random_graph(seed, 7)
        given = plans_of(config, graph, ordered_groups(graph, one_each(graph)))
        tasks = memory_tasks(graph, given)
        ordered = in_least_order(config, graph, given, how=name)
        peak = memory_tasks(graph, ordered).peak(range(len(ordered)))
        assert peak == (tasks.peak(range(len(tasks))) if name == "given" else least_peak(tasks))
        gained += peak < tasks.peak(range(len(tasks)))
    assert (gained > 0) == (name != "given")


def test_an_order_that_is_not_known_is_refused() -> None:
    with pytest.raises(TilewrightError, match="order 'rash': unknown; known are least, given, programme, pieces"):
        ordering_of("rash")
