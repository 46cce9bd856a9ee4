"""Concat on chip: groups that make parts of a map, and read it whole, compute what the reference computes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest

from compiler.layers.fit import FitError
from compiler.planning.grouping import make_group, one_each
from compiler.planning.joining import hole_channels, joinable
from compiler.planning.objective import DRAM
from compiler.planning.plan_group import plan_group
from compiler.search.cost import Evaluator
from compiler.search.strategies import STRATEGIES
from compiler.xgraph.graph import XGraph
from compiler.xgraph.ops import Concat, EltwiseKind, Op, PoolKind
from isa.config import MachineConfig, preset
from tests.compiler.graphs import Builder, check
from tests.compiler.planning.bytes_moved import moved
from tests.tables import in_turn, name_of, one_in

NANO, BASE, ZU2 = (preset(name) for name in ("nano", "base", "zu2"))
ODD = replace(
    NANO, name="odd", ic_p=5, oc_p=3, px_p=3, conv_finish=3, pool_finish=5, fm_banks=16, fm_depth=256, weight_depth=700,
    taps_depth=200,
)
CONFIGS = (NANO, BASE, ZU2, ODD)

Case = Callable[[Builder], tuple[list[str], list[int]]]
"""Builds a graph; returns its outputs, and the operations that run alone, before or after all others."""


def join(b: Builder, *parts: str) -> str:
    n, h, w, _ = b.tensors[parts[0]].shape
    channels = sum(b.tensors[part].channels for part in parts)
    return b.view(Concat, f"join{len(b.ops)}", parts, (n, h, w, channels))


def fire_module(b: Builder) -> tuple[list[str], list[int]]:
    squeezed = b.conv(b.input(23, 9, 32), 16, (1, 1))
    y = join(b, b.conv(squeezed, 48, (1, 1)), b.conv(squeezed, 240))
    return [b.conv(y, 20, (3, 3), (2, 2))], []


def unused_lanes(b: Builder) -> tuple[list[str], list[int]]:
    x = b.input(11, 12, 9, n=2)
    y = join(b, *(b.conv(x, channels) for channels in (7, 9, 13)))
    return [b.conv(y, 8, (1, 1), (2, 2)), b.conv(y, 10)], []


def a_part_from_dram(b: Builder) -> tuple[list[str], list[int]]:
    x = b.input(14, 10, 20)
    y = join(b, b.conv(x, 30), b.conv(x, 22), b.conv(x, 7))
    return [b.conv(y, 12)], [1]


def a_part_read_by_itself(b: Builder) -> tuple[list[str], list[int]]:
    left, right = (b.conv(b.input(12, 8, 16), channels) for channels in (21, 9))
    y = join(b, left, right)
    return [b.conv(y, 12), b.conv(left, 5, (5, 5))], []


def a_part_that_leaves(b: Builder) -> tuple[list[str], list[int]]:
    left, right = (b.conv(b.input(12, 8, 16), channels) for channels in (21, 9))
    y = join(b, left, right)
    return [b.conv(y, 12), b.conv(right, 5, (1, 1))], [4]


def a_reader_that_comes_later(b: Builder) -> tuple[list[str], list[int]]:
    left, right = (b.conv(b.input(12, 8, 16), channels) for channels in (21, 9))
    y = join(b, left, right)
    return [b.conv(y, 12), b.conv(y, 5, (1, 1))], [4]


def channel_by_channel(b: Builder) -> tuple[list[str], list[int]]:
    """240 channels fill planes and output chunks of every configuration."""
    x = b.input(9, 2, 24)
    y = join(b, b.eltwise(EltwiseKind.ADD, b.conv(x, 240), b.conv(x, 240)), b.pool(b.conv(x, 240), PoolKind.MAX, 3, 1, 1))
    return [b.eltwise(EltwiseKind.ADD, y, y), b.pool(y, PoolKind.MAX, 3, 2, 1)], []


def one_join_after_another(b: Builder) -> tuple[list[str], list[int]]:
    x = b.input(10, 10, 12)
    y = join(b, b.conv(x, 18), b.conv(x, 25, (1, 1)))
    return [b.conv(join(b, b.conv(y, 11), b.conv(y, 13, (1, 1))), 9)], []


CASES: tuple[Case, ...] = (
    fire_module, unused_lanes, a_part_from_dram, a_part_read_by_itself, a_part_that_leaves, a_reader_that_comes_later,
    channel_by_channel, one_join_after_another,
)  # fmt: skip


def built(case: Case) -> tuple[XGraph, list[list[Op]]]:
    b = Builder(CASES.index(case))
    outputs, alone = case(b)
    graph = b.graph(*outputs)
    together = [op for number, op in enumerate(b.ops) if number not in alone and not isinstance(op, Concat)]
    return graph, [*([b.ops[number]] for number in alone), together]


@pytest.mark.parametrize(("case", "config"), in_turn(CASES, CONFIGS), ids=name_of)
def test_joined_is_reference(config: MachineConfig, case: Case) -> None:
    graph, partition = built(case)
    assert make_group(config, graph, partition[-1]).joined
    check(config, graph, partition)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.__name__)
def test_the_generated_machine_agrees(case: Case) -> None:
    check(NANO, *built(case), rtl=True)


@pytest.mark.parametrize("case", one_in(2, CASES[::-1]), ids=name_of)
def test_predicted_bytes_are_those_of_the_program(case: Case) -> None:
    graph, partition = built(case)
    emitted = check(NANO, graph, partition, objective=DRAM)
    plans = [plan_group(NANO, make_group(NANO, graph, ops), DRAM) for ops in partition]
    assert moved(NANO, emitted) == sum(plan.cost.dram_bytes for plan in plans)


def test_the_map_between_never_sees_dram() -> None:
    graph, partition = built(fire_module)
    apart, joined = moved(BASE, check(BASE, graph, one_each(graph))), moved(BASE, check(BASE, graph, partition))
    between = sum(graph.tensors[name].bytes for name in ("conv1_out", "conv2_out"))
    assert apart - joined == 2 * between + 3 * graph.tensors["conv0_out"].bytes


def test_templates_do_not_reach_across_a_concat() -> None:
    """DNNVM puts it into the SAVE before it and the LOAD behind it (section 4.1)."""
    graph, _ = built(fire_module)
    crossing = {
        name: any(make_group(BASE, graph, group).joined for group in strategy(graph, Evaluator(BASE, graph), DRAM).groups)
        for name, strategy in STRATEGIES.items()
    }
    never = [name for name, crosses in crossing.items() if not crosses]
    assert never == ["naive", "greedy", "dnnvm", "dnnvm-as-written", "neocpu"]


@pytest.mark.parametrize("reader", [lambda b, y: b.pool(y, PoolKind.MAX), lambda b, y: b.conv(y, 20, groups=20)])
def test_maps_with_holes_are_not_read_by_channels(reader: Callable[[Builder, str], str]) -> None:
    b = Builder(0)
    x = b.input(8, 8, 8)
    y = join(b, b.conv(x, 17), b.conv(x, 3))
    graph = b.graph(b.conv(y, 4), reader(b, y))
    first, second, _, summing, other = b.ops
    assert hole_channels(BASE, [graph.tensors[name] for name in ("conv0_out", "conv1_out")]) == [15, 0]
    with pytest.raises(FitError, match=f"operation {other.name} reads join2_out channel by channel.*another group"):
        make_group(BASE, graph, [first, second, summing, other])
    check(BASE, graph, [[first, second, summing], [other]])
    assert Evaluator(BASE, graph).cost_of(0b1111, DRAM) is None


def test_parts_of_other_widths_cost_what_they_are_emitted_for() -> None:
    """Both maps have 16 channels, but the second one has three holes more; one search weighs both."""
    b = Builder(0)
    masks: list[int] = []
    for channels in ((8, 8), (5, 11)):
        parts = [b.conv(b.input(12, 10, 12), count, (1, 1)) for count in channels]
        b.conv(join(b, *parts), 24)
        masks.append(0b111 << len(masks) * 3)
    graph = b.graph(b.ops[3].output, b.ops[7].output)
    known = Evaluator(NANO, graph)
    for mask in masks:
        plan = plan_group(NANO, make_group(NANO, graph, known.sets.members(mask)), DRAM)
        assert known.cost_of(mask, DRAM) == plan.cost


def test_maps_that_nobody_could_read_on_chip_are_joined_in_dram() -> None:
    b = Builder(0)
    x = b.input(8, 8, 8)
    y = join(b, b.conv(x, 17), b.conv(x, 3))
    assert not joinable(b.graph(b.pool(y, PoolKind.MAX)), BASE)


def test_what_the_caller_reads_is_joined_in_dram() -> None:
    b = Builder(0)
    x = b.input(8, 8, 8)
    y = join(b, b.conv(x, 16), b.conv(x, 16))
    assert not joinable(b.graph(y, b.conv(y, 4)), BASE)
