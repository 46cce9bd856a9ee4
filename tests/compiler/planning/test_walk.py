"""The estimate of a group's cycles against the cycle model on the group as it is emitted."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from compiler.planning.grouping import make_group
from compiler.planning.plan import Plan
from compiler.planning.plan_group import plan_group
from compiler.planning.walk import Walk, Way, beats_of, cycles_at_least, walk
from compiler.programs.timing import program_cycles
from compiler.xgraph.graph import XGraph
from compiler.xgraph.ops import EltwiseKind, PoolKind
from isa.config import preset
from tests.compiler.graphs import Builder

BASE = preset("base")


def alone(b: Builder) -> XGraph:
    return b.graph(b.conv(b.input(28, 28, 64), 64))


def chain(b: Builder) -> XGraph:
    return b.graph(b.conv(b.conv(b.input(28, 28, 64), 64), 64))


def pooled(b: Builder) -> XGraph:
    return b.graph(b.pool(b.conv(b.input(28, 28, 64), 64), PoolKind.MAX, 3, 2, 1))


def residual(b: Builder) -> XGraph:
    x = b.input(14, 14, 256)
    y = b.conv(b.conv(b.conv(x, 64, (1, 1)), 64), 256, (1, 1))
    return b.graph(b.eltwise(EltwiseKind.ADD, y, x))


def streaming(b: Builder) -> XGraph:
    """More weights than the buffer holds."""
    return b.graph(b.conv(b.input(14, 14, 256), 256))


def skipping(b: Builder) -> XGraph:
    """The last row of the map between is not needed."""
    return b.graph(b.conv(b.conv(b.input(28, 28, 16), 64), 64, (1, 1), (2, 2)))


def dense(b: Builder) -> XGraph:
    """Nothing but weights: DRAM bounds it."""
    return b.graph(b.conv(b.input(1, 1, 1024), 256, (1, 1)))


@pytest.mark.parametrize("shape", [alone, chain, pooled, residual, streaming, dense])
def test_a_walk_takes_as_long_as_the_emitted_group(shape: Callable[[Builder], XGraph]) -> None:
    b = Builder(0)
    graph = shape(b)
    plan = plan_group(BASE, make_group(BASE, graph, graph.ops))
    assert walked(plan).cycles == pytest.approx(emitted_cycles(graph, plan), rel=0.06)


def test_what_happens_inside_leaves_out_first_load_and_last_save() -> None:
    b = Builder(0)
    graph = chain(b)
    plan = plan_group(BASE, make_group(BASE, graph, graph.ops))
    taken = walked(plan)
    beats = sum(layer.beats for layer in plan.group.layers)
    assert beats <= taken.inside < 1.01 * beats
    assert taken.inside < taken.cycles < 1.05 * beats
    assert plan.cost.cycles <= taken.cycles


def test_the_bus_carries_maps_and_parameters() -> None:
    b = Builder(0)
    graph = streaming(b)
    plan = plan_group(BASE, make_group(BASE, graph, graph.ops))
    assert walked(plan).bus == pytest.approx(plan.cost.dram_bytes / BASE.axi_bytes, rel=0.01)


def walked(plan: Plan) -> Walk:
    (only,) = plan.passes
    taken = walk(BASE, only.group, Way(only.ranges, only.skew, only.placed), only.residence, only.loads)
    assert taken is not None
    return taken


def emitted_cycles(graph: XGraph, plan: Plan) -> int:
    return program_cycles(BASE, graph, [plan])


def test_a_walk_ends_where_it_cannot_keep_the_limit() -> None:
    b = Builder(0)
    graph = chain(b)
    plan = plan_group(BASE, make_group(BASE, graph, graph.ops))
    (only,) = plan.passes
    taken = walked(plan)
    for limit in (taken.inside - 1, taken.inside + 1):
        way = Way(only.ranges, only.skew, only.placed)
        assert (walk(BASE, only.group, way, only.residence, only.loads, limit) is None) == (limit < taken.inside)


@pytest.mark.parametrize("shape", [alone, chain, pooled, residual, streaming, skipping, dense])
@pytest.mark.parametrize("ends", [0.0, 0.3, 1.0])
def test_a_walk_is_only_given_up_if_it_counts_more(shape: Callable[[Builder], XGraph], ends: float) -> None:
    graph = shape(Builder(0))
    plan = plan_group(BASE, make_group(BASE, graph, graph.ops))
    (only,) = plan.passes
    way = Way(only.ranges, only.skew, only.placed)
    counted = walked(plan).counting(ends)
    for most in (counted, counted + 1, 2 * counted):
        taken = walk(BASE, only.group, way, only.residence, only.loads, ends=ends, most=most)
        assert taken is not None
        assert taken.counting(ends) == counted
    assert walk(BASE, only.group, way, only.residence, only.loads, ends=ends, most=counted / 2) is None


@pytest.mark.parametrize("shape", [alone, chain, pooled, residual, streaming, skipping, dense])
def test_no_walk_takes_less_than_the_bound(shape: Callable[[Builder], XGraph]) -> None:
    graph = shape(Builder(0))
    plan = plan_group(BASE, make_group(BASE, graph, graph.ops))
    (only,) = plan.passes
    made = {name: int(end[-1]) for name, end in only.ranges.end.items()}
    bound = cycles_at_least(BASE, only.group, only.residence, made)
    assert max(beats_of(plan.group, made).values()) < bound <= walked(plan).cycles
