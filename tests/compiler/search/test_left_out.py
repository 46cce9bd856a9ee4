"""What caps keep out of a strategy's choice is counted: beside plain enumeration of all groups."""

from __future__ import annotations

import pytest

from compiler.driver import frugal_steps
from compiler.papers.optimus.offline import optimus
from compiler.planning.objective import CYCLES, DRAM
from compiler.search.cost import Evaluator
from compiler.search.cover import cheapest
from compiler.search.effort import EFFORTS
from compiler.search.partition import LeftOut
from compiler.search.strategies import STRATEGIES
from compiler.xgraph.graph import XGraph
from isa.config import preset
from tests.compiler.graphs import Builder, pointwise_chain
from tests.compiler.search.partitions import all_groups, random_graph

NANO = preset("nano")
NAMES = ("optimus.efficient_s", "optimus.offline", "optimus.online", "deep_fusion.fuse_and_shrink")
CAPPED = [f"compiler.papers.{name}" for name in NAMES]


def left_out(strategy: str, graph: XGraph) -> LeftOut:
    return STRATEGIES[strategy](graph, Evaluator(NANO, graph), DRAM).left_out


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_of_a_chain_the_longer_stretches_are_left_out(strategy: str) -> None:
    """22 operations; ``fuse-and-shrink`` stops twice, where it would have gone on."""
    graph = pointwise_chain(22, 8, 4, 4)
    found = left_out(strategy, graph)
    expected = {
        "optimus": (10, 12), "optimus-online": (10, 12), "efficient-s": (10, 12), "best": (10, 12),
        "fuse-and-shrink": (10, 2), "optimus-as-written": (20, 2), "optimus-online-as-written": (20, 2),
    }  # fmt: skip
    most, longer = expected.get(strategy, (0, 0))
    assert found == LeftOut(0, longer, most)
    legal = all_groups_of_a_size(graph, most + 1)
    assert longer == (2 if strategy == "fuse-and-shrink" else legal if most else 0)


def all_groups_of_a_size(graph: XGraph, size: int) -> int:
    """Of a chain: windows, each of which is legal."""
    sets = Evaluator(NANO, graph).sets
    windows = [((1 << size) - 1) << first for first in range(len(sets.ops) - size + 1)]
    assert all(sets.legal(window) for window in windows)
    return len(windows)


@pytest.mark.parametrize("seed", range(12))
def test_groups_that_are_too_many_are_those_of_the_enumeration_less_the_cap(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    graph = random_graph(seed, most=9)
    monkeypatch.setattr("compiler.papers.optimus.offline.most_of_a_size", lambda sets: 2)
    monkeypatch.setattr("compiler.papers.optimus.offline.MOST_OPS", 2)
    evaluator = Evaluator(NANO, graph)
    pairs = [mask for mask in all_groups(evaluator.sets, evaluator.sets.feeds) if mask.bit_count() == 2]
    assert optimus(graph, evaluator, DRAM).left_out.others == max(0, len(pairs) - 2)


@pytest.mark.parametrize("seed", range(12))
def test_no_cap_is_met_where_all_groups_are_weighed(seed: int) -> None:
    graph = random_graph(seed)
    assert not any(left_out(strategy, graph) for strategy in STRATEGIES)


@pytest.mark.parametrize("seed", range(6))
def test_longer_groups_are_those_of_the_enumeration(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    graph = random_graph(seed, most=9)
    for name in CAPPED:
        monkeypatch.setattr(f"{name}.MOST_OPS", 2)
    sets = Evaluator(NANO, graph).sets
    groups = [mask for mask in all_groups(sets, sets.feeds) if mask.bit_count() == 3]
    stretches = [mask for mask in range(sets.everything + 1) if mask.bit_count() == 3 and sets.legal(mask)]
    stretches = [mask for mask in stretches if mask // (mask & -mask) == 0b111]
    assert left_out("optimus", graph) == left_out("optimus-online", graph) == LeftOut(0, len(groups), 2)
    assert left_out("efficient-s", graph) == LeftOut(0, len(stretches), 2)
    assert left_out("fuse-and-shrink", graph).longer <= len(stretches)


def test_partitions_that_are_begun_and_given_up_are_counted_by_hand() -> None:
    """After the first of three there are two ways that have come as far: with the third, which reads it, and without."""
    b = Builder(0)
    x = b.input(6, 6, 8)
    first = b.conv(x, 8, (1, 1))
    second = b.conv(x, 8, (3, 3))
    graph = b.graph(second, b.conv(first, 8, (1, 1)))
    evaluator = Evaluator(NANO, graph)
    prices = {0b001: 4, 0b010: 4, 0b100: 4, 0b101: 5}
    for most, given_up in ((1, 1), (2, 0)):
        found = cheapest(evaluator.sets, prices, evaluator.floors, DRAM, most_states=most, guide=[4.0, 4.0, 4.0])
        assert found.given_up == given_up
        assert (found.dropped is None) == (not given_up)


def test_what_is_said_names_groups_and_the_cap() -> None:
    assert str(LeftOut(1200, 34, 10)) == "1,234 (34 of more than 10 operations)"
    assert str(LeftOut(12)) == "12"
    assert str(LeftOut(12, begun=5)) == "12, and 5 partitions that were begun"
    assert not LeftOut(most_ops=10)


@pytest.mark.parametrize("strategy", ["best", "optimus", "naive"])
def test_a_compilation_knows_what_its_strategy_left_out(strategy: str) -> None:
    graph = pointwise_chain(22, 8, 4, 4)
    found = frugal_steps(NANO, graph, strategy, "cycles", effort=EFFORTS["quick"])
    chosen = STRATEGIES[strategy](graph, Evaluator(NANO, graph, effort=EFFORTS["quick"]), CYCLES)
    assert found.left_out == chosen.left_out
    assert bool(found.left_out) == (strategy != "naive")
