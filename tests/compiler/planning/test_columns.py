"""Column tiles: that they compute the same whatever the group is made of, without races, and move the bytes weighed."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from compiler.layers.fit import FitError
from compiler.planning.columns import TileCut
from compiler.planning.grouping import make_group, one_each
from compiler.planning.objective import CYCLES, DRAM
from compiler.planning.plan import Plan
from compiler.planning.plan_group import needs_tiles, plan_group
from compiler.planning.plan_partition import plans_of
from compiler.xgraph.graph import XGraph
from compiler.xgraph.ops import Concat, EltwiseKind, Op, PoolKind, Slice, Upsample
from isa.config import MachineConfig, config_from_dict, preset
from tests.compiler.graphs import Builder, check
from tests.compiler.planning.bytes_moved import moved
from tests.tables import in_turn, name_of

NANO = preset("nano")
TINY = config_from_dict({"base": "nano", "name": "tiny", "fm_depth": 32, "weight_depth": 64, "acc_depth": 8}, origin="test")
"""192 feature-map words of 4 channels, 8 accumulators."""
WIDE = replace(TINY, name="wide", oc_p=9, fm_banks=8, weight_depth=64)
"""A chunk fills two words and drops a lane."""
ODD = replace(TINY, name="odd", ic_p=5, oc_p=3, px_p=2, fm_banks=8)
"""Two chunks make a word, two pixels a beat."""
CONFIGS = [TINY, WIDE, ODD]


def run(config: MachineConfig, graph: XGraph, groups: list[tuple[Op, ...]], rtl: bool = False) -> list[Plan]:
    """Compiled, run, compared with the reference; the bytes moved are those of the plans."""
    plans = [step for step in plans_of(config, graph, groups, DRAM) if isinstance(step, Plan)]
    emitted = check(config, graph, groups, objective=DRAM, rtl=rtl)
    assert moved(config, emitted) == sum(plan.cost.dram_bytes for plan in plans)
    return plans


def tiled(plan: Plan) -> bool:
    return any(each.group.first_column for each in plan.passes)


def one(config: MachineConfig, b: Builder, *outputs: str, rtl: bool = False) -> Plan:
    (plan,) = run(config, b.graph(*outputs), [tuple(b.ops)], rtl)
    return plan


def convolution(b: Builder) -> list[str]:
    return [b.conv(b.input(5, 90, 8), 7)]


def one_row(b: Builder) -> list[str]:
    return [b.conv(b.input(1, 300, 6), 9, (1, 5))]


def strided_and_dilated(b: Builder) -> list[str]:
    return [b.conv(b.input(7, 120, 5), 6, (3, 3), (2, 3), (2, 4, 2, 4), (2, 2))]


def image_layer(b: Builder) -> list[str]:
    """Its kernel columns are folded into lanes: overlapping windows are loaded."""
    return [b.conv(b.input(9, 210, 1), 8, (3, 3), (2, 2))]


def sampled(b: Builder) -> list[str]:
    return [b.conv(b.input(4, 230, 8), 8, (1, 1), (2, 2), (0, 0, -1, -1))]


def grouped(b: Builder) -> list[str]:
    return [b.conv(b.input(4, 90, 12), 6, (3, 3), groups=2)]


def depthwise_wide_kernel(b: Builder) -> list[str]:
    """More than some channels of a window do not fit either."""
    return [b.conv(b.input(13, 40, 12), 12, (11, 11), groups=12)]


def maximum(b: Builder) -> list[str]:
    return [b.pool(b.input(6, 100, 8), PoolKind.MAX, 3, 2, 1)]


def average_by_count(b: Builder) -> list[str]:
    return [b.pool(b.input(6, 100, 8), PoolKind.AVERAGE, 3, 1, 1, count_pad=False)]


def added(b: Builder) -> list[str]:
    return [b.eltwise(EltwiseKind.ADD, b.input(3, 190, 8), b.input(3, 190, 8))]


def scaled_by_channel(b: Builder) -> list[str]:
    """The second operand is one pixel."""
    return [b.eltwise(EltwiseKind.MUL, b.input(3, 390, 8), b.input(1, 1, 8))]


def upsampled(b: Builder) -> list[str]:
    return [b.view(Upsample, "up", (b.input(2, 90, 8),), (1, 6, 270, 8), factor=(3, 3))]


def transposed(b: Builder) -> list[str]:
    return [b.transpose(b.input(3, 70, 6), 5, 4, 2, 1)]


def transposed_apart(b: Builder) -> list[str]:
    """The stride is greater than the kernel: some phases have no taps."""
    return [b.transpose(b.input(2, 90, 6), 5, 2, 3, 0)]


def depthwise_transposed(b: Builder) -> list[str]:
    return [b.transpose(b.input(3, 70, 6), 6, 3, 2, 1, groups=6)]


def padding_alone(b: Builder) -> list[str]:
    """The last columns' windows lie beyond the map."""
    return [b.conv(b.input(3, 90, 8), 6, (1, 1), (1, 1), (2, 9, 2, 9))]


def batch(b: Builder) -> list[str]:
    return [b.conv(b.input(4, 80, 8, n=3), 8)]


def residual(b: Builder) -> list[str]:
    """A fused group: the halo of the first convolution is computed again, the sum goes in an operand's place."""
    x = b.input(6, 70, 4)
    return [b.eltwise(EltwiseKind.ADD, b.conv(b.conv(x, 4), 4), x)]


def bottleneck_with_two_outputs(b: Builder) -> list[str]:
    x = b.input(6, 70, 4)
    inner = b.conv(x, 8, (1, 1))
    return [inner, b.conv(b.conv(inner, 8, (3, 3), (2, 2), groups=8), 4, (1, 1))]


def upsampled_and_added(b: Builder) -> list[str]:
    x = b.input(2, 40, 4)
    up = b.view(Upsample, "up", (b.conv(x, 4, (1, 1)),), (1, 4, 120, 4), factor=(2, 3))
    return [b.conv(b.eltwise(EltwiseKind.ADD, up, b.input(4, 120, 4)), 4)]


def joined(b: Builder) -> list[str]:
    """The parts lie in one ring, one of them is loaded, another has been upsampled."""
    x, y = b.input(4, 80, 4), b.input(4, 80, 8)
    up = b.view(Upsample, "up", (b.input(2, 40, 4),), (1, 4, 80, 4), factor=(2, 2))
    both = b.view(Concat, "join", (b.conv(x, 4), y, up), (1, 4, 80, 16), axis=3)
    return [b.conv(both, 8, (1, 3))]


CASES: tuple[Callable[[Builder], list[str]], ...] = (
    convolution, one_row, strided_and_dilated, image_layer, sampled, grouped, depthwise_wide_kernel, maximum, average_by_count,
    added, scaled_by_channel, upsampled, transposed, transposed_apart, depthwise_transposed, padding_alone, batch, residual,
    bottleneck_with_two_outputs, upsampled_and_added, joined,
)  # fmt: skip


@pytest.mark.parametrize(("case", "config"), in_turn(CASES, CONFIGS), ids=name_of)
def test_tiles_compute_the_reference(case: Callable[[Builder], list[str]], config: MachineConfig) -> None:
    b = Builder(CASES.index(case))
    graph = b.graph(*case(b))
    ops = tuple(op for op in b.ops if not isinstance(op, Concat))
    (plan,) = run(config, graph, [ops])
    assert tiled(plan)
    assert needs_tiles(config, make_group(config, graph, ops))


@pytest.mark.slow
def test_tiles_on_the_rtl() -> None:
    b = Builder(1)
    assert tiled(one(TINY, b, *residual(b), rtl=True))


def test_views_of_columns_of_views() -> None:
    """Parts of a concat by channels are written, and a slice is read, column by column."""
    b = Builder(3)
    x = b.input(4, 100, 8)
    parts = [b.conv(x, 12, (1, 1)), b.conv(x, 6, (1, 3))]
    whole = b.view(Concat, "join", tuple(parts), (1, 4, 100, 18), axis=3)
    middle = b.view(Slice, "middle", (whole,), (1, 4, 49, 12), begin=(0, 1, 4), step=(1, 2))
    graph = b.graph(b.pool(middle, PoolKind.MAX, 3, 1, 1))
    assert all(tiled(plan) for plan in run(TINY, graph, one_each(graph))[:2])


def test_bytes_are_those_of_the_formula() -> None:
    """``w s + (t - 1) (k - s)`` columns of the input, and parameters once for each of ``t`` tiles."""
    b = Builder(0)
    plan = one(TINY, b, b.conv(b.input(5, 90, 8), 8, pads=(1, 0, 1, 0)))
    weights, records = 2 * 18 * 16, 2 * 32
    tiles = plan.count
    assert tiles > 1
    assert plan.cost.dram_bytes - plan.reloaded == 5 * 8 * (90 + (tiles - 1) * 2) + 5 * 88 * 8 + tiles * (weights + records)


@pytest.mark.parametrize(("tokens", "config"), in_turn([96, 200, 7 * 64, 197, 131], CONFIGS))
def test_tokens_are_walked_over_in_rows(tokens: int, config: MachineConfig) -> None:
    """Layers that work pixel by pixel may cut the only row of their maps where they like: steps, not tiles."""
    b = Builder(tokens)
    x = b.input(1, tokens, 12, n=2)
    y = b.eltwise(EltwiseKind.ADD, b.conv(b.conv(x, 16, (1, 1)), 12, (1, 1)), x)
    plan = one(config, b, y)
    assert not tiled(plan)
    assert plan.steps > 1
    assert plan.count == 1


def test_tiles_are_the_last_resort() -> None:
    """What fits by whole rows, or by channels, stays whole."""
    b = Builder(0)
    graph = b.graph(b.conv(b.input(9, 12, 24), 24, groups=24))
    group = make_group(replace(TINY, fm_depth=64), graph, b.ops)
    plan = plan_group(replace(TINY, fm_depth=64), group, CYCLES)
    assert not tiled(plan)
    assert not needs_tiles(replace(TINY, fm_depth=64), group)


def test_a_group_may_be_asked_not_to_tile() -> None:
    b = Builder(0)
    graph = b.graph(*convolution(b))
    with pytest.raises(FitError, match=r"what is needed at once takes \d+ words, \d+ of them for x0"):
        plan_group(TINY, make_group(TINY, graph, b.ops), columns=False)


def test_every_column_is_made_once_where_nothing_overlaps() -> None:
    b = Builder(0)
    graph = b.graph(*convolution(b))
    cut = TileCut(TINY, make_group(TINY, graph, b.ops))
    for count in cut.counts():
        made = [cut.spans(number, count)["conv0_out"] for number in range(count)]
        assert [past for _, past in made[:-1]] == [first for first, _ in made[1:]]
        assert (made[0][0], made[-1][1]) == (0, 90)


@settings(max_examples=15, deadline=None)
@given(
    st.integers(1, 9), st.integers(30, 140), st.integers(1, 20), st.integers(1, 20),
    st.sampled_from([(1, 1), (3, 3), (1, 7), (5, 2)]), st.sampled_from([(1, 1), (2, 2), (1, 3)]), st.integers(0, 4),
    st.integers(1, 2), st.sampled_from(CONFIGS), st.integers(0, 3),
)  # fmt: skip
def test_random_chains(
    h: int, w: int, c: int, channels: int, kernel: tuple[int, int], stride: tuple[int, int], pad: int, n: int,
    config: MachineConfig, tail: int,
) -> None:  # fmt: skip
    """A convolution, and what may follow it in its group."""
    b = Builder(h * w)
    y = b.conv(b.input(h, w, c, n), channels, kernel, stride, (4, pad, 4, pad))
    if tail == 1:
        y = b.pool(y, PoolKind.MAX, 2, 1, 1)
    elif tail == 2:
        y = b.conv(y, channels, (3, 3), groups=channels)
    elif tail == 3:
        y = b.eltwise(EltwiseKind.ADD, y, b.conv(b.ops[0].inputs[0], channels, kernel, stride, (4, pad, 4, pad)))
    run(config, b.graph(y), [tuple(b.ops)])
