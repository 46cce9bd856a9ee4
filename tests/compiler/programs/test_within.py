"""What groups need, and the partitions within a limit, against enumeration of all partitions."""

from __future__ import annotations

import random
from collections.abc import Iterator

import pytest

from compiler.emit.places import Sharing
from compiler.fusion.legal import Mask, bits_of
from compiler.memory.least_order import memory_order, tasks_of
from compiler.memory.lifetimes import Step, lives_of
from compiler.planning.grouping import make_group
from compiler.planning.objective import CYCLES
from compiler.planning.plan_partition import plans_of
from compiler.planning.running_order import needs_of
from compiler.programs.frugal import in_least_order, placed
from compiler.programs.needs import Needs
from compiler.programs.within import Within
from compiler.search.cost import Evaluator
from compiler.search.pricing import priced
from compiler.xgraph.graph import XGraph
from isa.config import preset
from tests.compiler.graphs import Builder
from tests.compiler.search.partitions import all_groups, all_partitions, random_graph

CONFIG = preset("nano")
SEEDS = range(10)


def weighed(graph: XGraph) -> Evaluator:
    return Evaluator(CONFIG, graph)


def runnable(evaluator: Evaluator) -> Iterator[list[Mask]]:
    """All partitions into groups that fit on chip, each in an order in which it can run."""
    sets = evaluator.sets
    fitting = [mask for mask in all_groups(sets, sets.joins) if evaluator.cost_of(mask, CYCLES) is not None]
    for partition in all_partitions(sets, fitting):
        order = sets.in_order(partition)
        if order is not None:
            yield order


def least_bytes(graph: XGraph, evaluator: Evaluator, partition: list[Mask], shared: bool) -> int:
    """Of the best order of these groups, without overlap."""
    parts = [evaluator.sets.members(mask) for mask in partition]
    groups = [make_group(CONFIG, graph, part) for part in parts]
    steps = [Step(group.inputs, group.outputs) for group in groups]
    tasks = tasks_of(graph, steps, needs_of(graph, parts), shared)
    lives = lives_of(graph, steps)
    apart = 0 if shared else sum(each.size for region in (lives.input, lives.output) for each in region.values())
    return apart + memory_order(tasks, range(len(tasks))).peak


@pytest.mark.parametrize("shared", [False, True], ids=["apart", "shared"])
def test_no_partition_needs_less_than_any_of_its_groups(shared: bool) -> None:
    tight = partitions = 0
    for seed in SEEDS:
        graph = random_graph(seed, 5)
        evaluator = weighed(graph)
        needs = Needs(evaluator, shared)
        for partition in runnable(evaluator):
            needed = [needs.of(mask) for mask in partition]
            most = max(need for need in needed if need is not None)
            found = least_bytes(graph, evaluator, partition, shared)
            assert None not in needed
            assert most <= found, f"seed {seed}"
            tight += most == found
            partitions += 1
    assert tight > 0.6 * partitions


@pytest.mark.parametrize("shared", [False, True], ids=["apart", "shared"])
def test_each_limit_gets_its_cheapest_partition_and_the_least_one_is_known(shared: bool) -> None:
    for seed in SEEDS:
        graph = random_graph(seed, 5)
        evaluator = weighed(graph)
        within = Within(evaluator, CYCLES, shared).overlapping
        costs: dict[int, int] = {}
        for partition in runnable(evaluator):
            most = max(within.bytes[mask] for mask in partition)
            cycles = 0
            for mask in partition:
                cost = evaluator.cost_of(mask, CYCLES)
                assert cost is not None
                cycles += cost.cycles
            costs[most] = min(cycles, costs.get(most, cycles))
        assert within.limits[within.least] == min(costs), f"seed {seed}"
        for limit in within.limits:
            allowed = [cycles for most, cycles in costs.items() if most <= limit]
            found = within.cheapest(limit)
            assert (found is None) == (not allowed), f"seed {seed}"
            if found is not None:
                masks = [evaluator.sets.mask(group) for group in found]
                spent = sum(known.cycles for mask in masks if (known := evaluator.cost_of(mask, CYCLES)) is not None)
                assert spent == min(allowed), f"seed {seed}"
                assert within.most(found) <= limit


def test_groups_that_are_favoured_count_a_sixteenth_less() -> None:
    """Beside all partitions into groups that are no dearer than their parts; some are chosen that are dearer otherwise."""
    changed = 0
    for seed in SEEDS:
        evaluator = weighed(random_graph(seed, 5))
        within = Within(evaluator, CYCLES, shared=False).apart
        limit, rng = within.limits[-1], random.Random(seed)
        prices = priced(evaluator, CYCLES, [*within.bytes])
        plain = within.cheapest(limit)
        for _ in range(4):
            favoured = {mask for mask in prices if rng.random() < 0.5}
            counted = {mask: price - (price // 16 if mask in favoured else 0) for mask, price in prices.items()}
            found = within.cheapest(limit, favoured)
            assert found is not None
            partitions = [p for p in runnable(evaluator) if {*p} <= counted.keys()]
            least = min(sum(counted[mask] for mask in partition) for partition in partitions)
            assert sum(counted[evaluator.sets.mask(group)] for group in found) == least, f"seed {seed}"
            changed += found != plain
    assert changed > 0


def test_overlap_lessens_what_groups_need_and_no_partition_undercuts_that() -> None:
    saved = 0
    for seed in SEEDS:
        graph = random_graph(seed, 5)
        evaluator = weighed(graph)
        within, needs = Within(evaluator, CYCLES, shared=True).overlapping, Needs(evaluator, shared=True)
        for partition in runnable(evaluator):
            steps = plans_of(CONFIG, graph, [evaluator.sets.members(mask) for mask in partition])
            found = placed(graph, in_least_order(CONFIG, graph, steps, shared=True), Sharing(True, True)).bytes
            assert max(within.bytes[mask] for mask in partition) <= found, f"seed {seed}"
            saved += any(within.bytes[mask] < (needs.of(mask) or 0) for mask in partition)
    assert saved > 20


def test_tiles_of_columns_let_more_run_together() -> None:
    """On so small a buffer the rows of two wide maps do not fit beside each other."""
    b = Builder(3)
    wide = b.conv(b.conv(b.input(8, 400, 8), 8), 8)
    evaluator = weighed(b.graph(wide))
    together = evaluator.sets.everything
    assert evaluator.cost_of(together, CYCLES) is None
    by_rows, tiled = (Within(evaluator, CYCLES, shared=False, bands=bands).overlapping for bands in (0, 1))
    assert tiled.limits[tiled.least] < by_rows.limits[by_rows.least]
    found = tiled.cheapest(tiled.limits[tiled.least])
    assert found is not None
    assert [len(list(bits_of(evaluator.sets.mask(group)))) for group in found] == [2]
