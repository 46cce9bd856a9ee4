"""Which groups planning cannot tell apart: those have one key, and others have others."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest

from compiler.fusion.legal import OpSets
from compiler.planning.objective import OBJECTIVES
from compiler.search.cost import Evaluator
from compiler.search.shape import Shapes
from compiler.xgraph.graph import XGraph
from compiler.xgraph.ops import Concat, Conv, EltwiseKind, Finish, PoolKind, Reshape, Upsample, Window
from isa.config import preset
from tests.compiler.graphs import Builder
from tests.compiler.search.partitions import all_groups, random_graph

NANO = preset("nano")
TABLE = Finish(table=np.arange(256, dtype=np.uint8).view(np.int8))


def usual(b: Builder, x: str) -> str:
    return b.conv(x, 8)


DIFFERENT: dict[str, Callable[[Builder, str], str]] = {
    "channels": lambda b, x: b.conv(x, 9),
    "kernel": lambda b, x: b.conv(x, 8, (3, 1), pads=(1, 0, 1, 0)),
    "stride": lambda b, x: b.conv(x, 8, (3, 3), (1, 2)),
    "dilation": lambda b, x: b.conv(x, 8, dilation=(2, 2)),
    "pads": lambda b, x: b.conv(x, 8, pads=(2, 1, 0, 1)),
    "groups": lambda b, x: b.conv(x, 8, groups=2),
    "table": lambda b, x: b.conv(x, 8, finish=TABLE),
    "depthwise": lambda b, x: b.conv(x, 8, groups=8),
    "deconvolution": lambda b, x: b.transpose(x, 8, 3, 1, 1),
    "pool": lambda b, x: b.pool(x, PoolKind.MAX, 3, 1, 1),
    "average": lambda b, x: b.pool(x, PoolKind.AVERAGE, 3, 1, 1),
    "average without pads": lambda b, x: b.pool(x, PoolKind.AVERAGE, 3, 1, 1, False),
    "sum": lambda b, x: b.eltwise(EltwiseKind.ADD, x, x),
    "product": lambda b, x: b.eltwise(EltwiseKind.MUL, x, x),
    "product and table": lambda b, x: b.eltwise(EltwiseKind.MUL, x, x, table=True),
    "copy": lambda b, x: b.eltwise(EltwiseKind.PASS, x),
    "wider": lambda b, x: b.view(Upsample, "wider", (x,), (1, 6, 12, 8), factor=(1, 2)),
    "higher": lambda b, x: b.view(Upsample, "higher", (x,), (1, 12, 6, 8), factor=(2, 1)),
}


def test_operations_of_other_geometry_have_keys_of_their_own() -> None:
    b = Builder(0)
    x = b.input(6, 6, 8)
    outputs = [usual(b, x), *[make(b, x) for make in DIFFERENT.values()]]
    shapes = Shapes(OpSets(b.graph(*outputs)))
    keys = [shapes.key(1 << n) for n in range(len(outputs))]
    assert len({*keys}) == len({shapes.digest(1 << n) for n in range(len(outputs))}) == len(outputs)


def test_weights_biases_and_names_make_no_difference() -> None:
    b = Builder(0)
    x, y = b.input(6, 6, 8), b.input(6, 6, 8)
    graph = b.graph(usual(b, x), usual(b, x), usual(b, y))
    shapes = Shapes(OpSets(graph))
    assert len({shapes.key(1 << n) for n in range(3)}) == len({shapes.digest(1 << n) for n in range(3)}) == 1


def test_scales_that_are_powers_of_two_are_told_from_others() -> None:
    b = Builder(0)
    x = b.input(6, 6, 8)
    usual(b, x), usual(b, x)
    op = b.ops[1]
    assert isinstance(op, Conv)
    q = op.requantisation
    b.ops[1] = replace(op, requantisation=replace(q, mantissa=np.full_like(q.mantissa, 1 << 23)))
    shapes = Shapes(OpSets(b.graph("conv0_out", "conv1_out")))
    assert shapes.key(1) != shapes.key(2)


def test_a_map_that_is_stored_is_told_from_one_that_is_not() -> None:
    b = Builder(0)
    first = usual(b, b.input(6, 6, 8))
    second = usual(b, first)
    third = usual(b, b.input(6, 6, 8))
    fourth = usual(b, third)
    for outputs, alike in (((second, fourth), True), ((second, fourth, first), False), ((second, fourth, first, third), True)):
        shapes = Shapes(OpSets(b.graph(*outputs)))
        assert (shapes.key(0b11) == shapes.key(0b1100)) == alike
        assert (shapes.digest(0b11) == shapes.digest(0b1100)) == alike


def test_who_reads_what_is_told() -> None:
    """A chain, two on one map, and two on different maps."""
    b = Builder(0)
    x, y = b.input(6, 6, 8), b.input(6, 6, 8)
    first = usual(b, x)
    graph = b.graph(first, usual(b, first), usual(b, x), usual(b, y))
    shapes = Shapes(OpSets(graph))
    assert len({shapes.key(mask) for mask in (0b0011, 0b0101, 0b1001)}) == 3
    assert shapes.key(0b1100) == shapes.key(0b1001)
    assert shapes.together([0b0001, 0b0100]) != shapes.together([0b0001, 0b1000])
    assert shapes.together([0b0100, 0b1000]) == shapes.together([0b0001, 0b1000])


def test_bytes_that_do_not_lie_together_cannot_be_folded() -> None:
    """A map that a concat contains has gaps between its pixels."""
    b = Builder(0)
    x = b.input(6, 6, 8)
    part, alone = usual(b, x), usual(b, x)
    whole = b.view(Concat, "whole", (part, x), (1, 6, 6, 16))
    shapes = Shapes(OpSets(b.graph(usual(b, part), usual(b, alone), whole, b.view(Reshape, "flat", (alone,), (1, 1, 36, 8)))))
    assert shapes.key(0b0100) != shapes.key(0b1000)


def joins(b: Builder, *channels: int) -> str:
    """A concat of convolutions on one map, and what reads it."""
    x = b.input(6, 6, 8)
    parts = tuple(b.conv(x, number, (1, 1)) for number in channels)
    whole = b.view(Concat, f"join{len(b.ops)}", parts, (1, 6, 6, sum(channels)))
    return b.conv(whole, 8)


def joined(graph: XGraph) -> OpSets:
    return OpSets(graph, {op.output: op.inputs for op in graph.ops if isinstance(op, Concat)})


def test_which_part_of_a_joined_map_a_group_makes_is_told() -> None:
    b = Builder(0)
    shapes = Shapes(joined(b.graph(joins(b, 3, 3), joins(b, 3, 3))))
    first, second, both = 0b101, 0b110, 0b111
    assert shapes.key(first) != shapes.key(second)
    for mask in (first, second, both):
        assert shapes.key(mask) == shapes.key(mask << 3)
        assert shapes.digest(mask) == shapes.digest(mask << 3)


def test_how_many_channels_the_other_parts_have_is_told() -> None:
    b = Builder(0)
    shapes = Shapes(joined(b.graph(joins(b, 3, 5, 4), joins(b, 3, 4, 5))))
    assert shapes.key(0b1001) != shapes.key(0b1001 << 4)
    assert shapes.key(0b1000) == shapes.key(0b1000 << 4), "a reader alone loads one map"


@pytest.mark.parametrize("seed", range(8))
def test_groups_with_one_key_cost_the_same(seed: int) -> None:
    """Each planned by itself."""
    graph = random_graph(seed)
    known = Evaluator(NANO, graph)
    costs: dict[object, object] = {}
    for mask in all_groups(known.sets, known.sets.joins):
        for name, objective in OBJECTIVES.items():
            plan = known.plan(mask, objective)
            cost = None if plan is None else plan.cost
            assert costs.setdefault((name, known.shapes.key(mask)), cost) == cost


def test_windows_of_one_size_are_one() -> None:
    b = Builder(0)
    x = b.input(6, 6, 8)
    b.conv(x, 8, (1, 1))
    b.conv(x, 8, (1, 1), pads=(0, 0, 0, 0))
    assert [op.window for op in b.ops if isinstance(op, Conv)] == [Window((1, 1))] * 2
    shapes = Shapes(OpSets(b.graph("conv0_out", "conv1_out")))
    assert shapes.key(1) == shapes.key(2)
