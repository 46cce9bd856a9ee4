"""Every strategy on small graphs: partitions that run, and the best ones where that is promised."""

from __future__ import annotations

from functools import cache
from itertools import pairwise

import pytest

from compiler.search.cost import OBJECTIVES, Evaluator
from compiler.search.partition import Partition
from compiler.search.strategies import STRATEGIES
from compiler.xgraph.ops import EltwiseKind, PoolKind
from isa.config import MachineConfig, config_from_dict, preset
from isa.errors import TilewrightError
from tests.compiler.graphs import Builder, check
from tests.compiler.search.partitions import all_groups, all_partitions, random_graph, runs

NANO = preset("nano")


@cache
def evaluator(seed: int) -> Evaluator:
    return Evaluator(NANO, random_graph(seed))


def searched(name: str, objective: str, seed: int) -> Partition:
    return STRATEGIES[name](evaluator(seed).graph, evaluator(seed), OBJECTIVES[objective])


def least(seed: int, objective: str, joins: str) -> int:
    """By enumeration of all partitions that can run and fit."""
    known = evaluator(seed)
    sets = known.sets
    prices = {}
    for mask in all_groups(sets, getattr(sets, joins)):
        cost = known.cost_of(mask, OBJECTIVES[objective])
        if cost is not None:
            prices[mask] = OBJECTIVES[objective](cost)
    partitions = (p for p in all_partitions(sets, list(prices)) if sets.in_order(p) is not None)
    return min(sum(prices[group] for group in partition) for partition in partitions)


@pytest.mark.parametrize("objective", ["cycles", "dram"])
@pytest.mark.parametrize("seed", range(12))
def test_optimus_and_best_are_optimal_on_small_graphs(seed: int, objective: str) -> None:
    for name, joins in (("optimus", "feeds"), ("best", "joins")):
        partition = searched(name, objective, seed)
        assert partition.exact
        assert partition.value == least(seed, objective, joins)


@pytest.mark.parametrize("objective", OBJECTIVES)
@pytest.mark.parametrize("seed", range(20))
def test_partitions_run_are_priced_right_and_none_is_better_than_best(seed: int, objective: str) -> None:
    graph = evaluator(seed).graph
    found = {name: searched(name, objective, seed) for name in STRATEGIES}
    for partition in found.values():
        assert runs(graph, partition.groups)
        sets = evaluator(seed).sets
        costs = [evaluator(seed).cost_of(sets.mask(group), OBJECTIVES[objective]) for group in partition.groups]
        assert partition.value == sum(OBJECTIVES[objective](cost) for cost in costs if cost is not None)
        assert partition.bound <= found["best"].value <= partition.value


@pytest.mark.parametrize("objective", OBJECTIVES)
@pytest.mark.parametrize("seed", range(20))
def test_no_group_costs_less_than_its_floor(seed: int, objective: str) -> None:
    known, count = evaluator(seed), 0
    for mask in all_groups(known.sets, known.sets.joins):
        cost = known.cost_of(mask, OBJECTIVES[objective])
        if cost is not None:
            count += 1
            assert known.floors.of(mask, OBJECTIVES[objective]) <= OBJECTIVES[objective](cost)
    assert count >= len(known.sets.ops)


@pytest.mark.parametrize("name", STRATEGIES)
def test_what_a_strategy_chooses_computes_what_the_graph_says(name: str) -> None:
    for seed in (2, 5):
        graph = evaluator(seed).graph
        check(NANO, graph, searched(name, "cycles", seed).groups)


def residual() -> Builder:
    b = Builder(0)
    x = b.conv(b.input(12, 12, 8), 8)
    left = b.conv(b.conv(x, 8, (1, 1)), 8)
    b.pool(b.eltwise(EltwiseKind.ADD, left, x), PoolKind.MAX)
    return b


def groups_of(name: str, b: Builder, objective: str = "dram") -> list[str]:
    graph = b.graph(b.ops[-1].output)
    partition = STRATEGIES[name](graph, Evaluator(preset("base"), graph), OBJECTIVES[objective])
    return ["+".join(op.name for op in group) for group in partition.groups]


def test_naive_fuses_nothing() -> None:
    assert groups_of("naive", residual()) == ["conv0", "conv1", "conv2", "add3", "max4"]


def test_greedy_takes_the_largest_template_first() -> None:
    assert groups_of("greedy", residual()) == ["conv0+conv1+conv2+add3", "max4"]


def test_dnnvm_fuses_a_branch_with_the_join_but_nothing_across_the_fork() -> None:
    assert groups_of("dnnvm", residual()) == ["conv0", "conv1+conv2+add3", "max4"]


def test_neocpu_fuses_what_works_element_by_element_into_the_last_maker() -> None:
    b = residual()
    b.eltwise(EltwiseKind.PASS, b.ops[-1].output, table=True)
    assert groups_of("neocpu", b) == ["conv0", "conv1", "conv2+add3", "max4+pass5"]


def test_dnnvm_runs_convolutions_on_one_map_side_by_side() -> None:
    b = Builder(0)
    x = b.input(12, 12, 8)
    first, second = b.conv(x, 8), b.conv(x, 8, (1, 1))
    graph = b.graph(first, second)
    partition = STRATEGIES["dnnvm"](graph, Evaluator(preset("base"), graph), OBJECTIVES["dram"])
    assert [len(group) for group in partition.groups] == [2]


def test_fuse_and_shrink_goes_on_as_long_as_something_fits() -> None:
    """Whatever it costs: a group ends where no tile of it fits, as the rows of two wide maps beside each other."""
    assert groups_of("fuse-and-shrink", residual()) == ["conv0+conv1+conv2+add3+max4"]
    b = Builder(0)
    graph = b.graph(b.conv(b.conv(b.input(8, 400, 8), 8), 8))
    sets = Evaluator(NANO, graph).sets
    partition = STRATEGIES["fuse-and-shrink"](graph, Evaluator(NANO, graph), OBJECTIVES["dram"])
    masks = [sets.mask(group) for group in partition.groups]
    assert len(masks) > 1
    for one, other in pairwise(masks):
        assert Evaluator(NANO, graph).cost_of(one | other & -other, OBJECTIVES["dram"]) is None


def test_fuse_and_shrink_waits_for_the_join_of_branches() -> None:
    b = Builder(0)
    left, right = b.conv(b.input(12, 12, 8), 8), b.conv(b.input(12, 12, 8), 8)
    b.eltwise(EltwiseKind.ADD, left, right)
    assert groups_of("fuse-and-shrink", b) == ["conv0+conv1+add2"]


def test_optimus_fuses_across_barriers() -> None:
    assert groups_of("optimus", residual()) == ["conv0+conv1+conv2+add3+max4"]


def test_optimus_does_not_fuse_what_only_shares_a_map_but_best_does() -> None:
    b = Builder(0)
    x = b.input(12, 12, 8)
    graph = b.graph(b.conv(x, 8), b.conv(x, 8, (1, 1)))
    sizes = {}
    for name in ("optimus", "best"):
        partition = STRATEGIES[name](graph, Evaluator(preset("base"), graph), OBJECTIVES["dram"])
        sizes[name] = [len(group) for group in partition.groups]
    assert sizes == {"optimus": [1, 1], "best": [2]}


def small() -> MachineConfig:
    """The weight buffer holds one of the convolutions below, not both."""
    return config_from_dict({"base": "nano", "name": "small", "weight_depth": 24}, origin="test")


def test_works_before_optimus_fuse_only_what_holds_all_its_parameters() -> None:
    b = Builder(0)
    x = b.conv(b.conv(b.input(8, 16, 16), 16, (1, 1)), 16, (1, 1))
    graph = b.graph(x)
    for name, fused in (("efficient-s", False), ("dnnvm", False), ("optimus", True)):
        partition = STRATEGIES[name](graph, Evaluator(small(), graph), OBJECTIVES["dram"])
        assert (len(partition.groups) == 1) == fused


def test_the_online_variant_keeps_all_readers_of_a_map_together_or_apart() -> None:
    b = Builder(0)
    x = b.conv(b.input(12, 12, 8), 8)
    b.eltwise(EltwiseKind.ADD, b.conv(x, 8), b.conv(x, 8, (1, 1)))
    groups = groups_of("optimus-online", b)
    assert all({"conv1", "conv2"} <= set(g.split("+")) for g in groups if "conv0" in g.split("+") and "+" in g)


def test_a_layer_that_fits_nowhere_is_named() -> None:
    b = Builder(0)
    graph = b.graph(b.conv(b.input(4, 4, 3200), 64))
    with pytest.raises(TilewrightError, match="conv0: no tiling fits configuration nano"):
        STRATEGIES["best"](graph, Evaluator(NANO, graph), OBJECTIVES["cycles"])
