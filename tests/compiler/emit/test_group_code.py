"""Compiled graphs compute what the plain reference computes, one operation per group and all in one.

Every run also goes through the race detector: the tokens keep every hazard apart.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest

from compiler.emit.build import build
from compiler.layers.fit import FitError
from compiler.planning.grouping import make_group, one_each
from compiler.planning.plan_group import plan_group
from compiler.planning.running_order import ordered_groups
from compiler.xgraph.ops import Concat, EltwiseKind, Finish, Interleave, PoolKind, Reshape, Slice, Upsample
from isa.config import MachineConfig, preset
from isa.errors import TilewrightError
from tests.compiler.graphs import Builder, check
from tests.tables import in_turn, name_of

NANO, BASE, ZU2, ZU9 = (preset(name) for name in ("nano", "base", "zu2", "zu9"))
ODD = replace(
    NANO, name="odd", ic_p=5, oc_p=3, px_p=3, conv_finish=3, pool_finish=5, fm_banks=16, fm_depth=256, weight_depth=700,
    taps_depth=200,
)
WIDE = replace(NANO, name="wide", ic_p=4, oc_p=9, px_p=2, conv_finish=9, fm_banks=8)
CONFIGS = (NANO, BASE, ZU2, ZU9, ODD, WIDE)

Case = Callable[[Builder], list[str]]


def residual_batch(b: Builder) -> list[str]:
    x = b.input(13, 11, 20, n=2)
    y = b.conv(x, 24)
    return [b.eltwise(EltwiseKind.ADD, y, b.conv(y, 24, (1, 1)))]


def inverted_bottleneck(b: Builder) -> list[str]:
    y = b.conv(b.input(17, 15, 24), 48, (1, 1))
    return [b.conv(b.conv(y, 48, (3, 3), (2, 2), groups=48), 16, (1, 1))]


def image_layer(b: Builder) -> list[str]:
    y = b.conv(b.input(20, 22, 3), 20, (7, 7), (2, 2))
    return [b.conv(b.pool(y, PoolKind.MAX, 3, 2, 1), 24, (1, 1))]


def grouped_across_lanes(b: Builder) -> list[str]:
    return [b.conv(b.input(9, 9, 24), 36, groups=3)]


def grouped_along_lanes(b: Builder) -> list[str]:
    return [b.conv(b.input(9, 9, 64), 128, groups=2)]


def transposed(b: Builder) -> list[str]:
    y = b.transpose(b.input(14, 10, 10), 12)
    return [b.transpose(y, 12, 3, 2, 1, groups=12)]


def transposed_with_empty_phases(b: Builder) -> list[str]:
    return [b.transpose(b.input(5, 6, 7), 9, 2, 3, 0)]


def pools_and_products(b: Builder) -> list[str]:
    y = b.pool(b.input(14, 10, 18), PoolKind.AVERAGE, 3, 1, 1, count_pad=False)
    z = b.pool(y, PoolKind.AVERAGE, 2, 2, 0)
    return [b.eltwise(EltwiseKind.MUL, z, z), y]


def dilated(b: Builder) -> list[str]:
    return [b.conv(b.conv(b.input(20, 20, 6), 20, dilation=(2, 2)), 9, (5, 5))]


def dense_layer(b: Builder) -> list[str]:
    return [b.conv(b.input(1, 1, 5000), 40, (1, 1))]


def reduction_in_parts(b: Builder) -> list[str]:
    return [b.conv(b.input(6, 6, 600), 12)]


def deep_chain(b: Builder) -> list[str]:
    y = b.input(40, 30, 16)
    for _ in range(3):
        y = b.conv(y, 16)
    return [b.eltwise(EltwiseKind.PASS, b.pool(y, PoolKind.MAX), table=True)]


def cropping(b: Builder) -> list[str]:
    return [b.conv(b.input(12, 12, 8), 8, pads=(-1, 2, 0, -2), finish=Finish(-3, hi=90))]


def upsampled(b: Builder) -> list[str]:
    y = b.conv(b.input(10, 9, 16), 16, (1, 1))
    return [b.conv(b.view(Upsample, "up", (y,), (1, 20, 27, 16), factor=(2, 3)), 8)]


CASES: tuple[Case, ...] = (
    residual_batch, inverted_bottleneck, image_layer, grouped_across_lanes, grouped_along_lanes, transposed,
    transposed_with_empty_phases, pools_and_products, dilated, dense_layer, reduction_in_parts, deep_chain,
    cropping, upsampled,
)  # fmt: skip


@pytest.mark.parametrize("fused", [False, True], ids=["each", "fused"])
@pytest.mark.parametrize(("case", "config"), in_turn(CASES, CONFIGS), ids=name_of)
def test_compiled_is_reference(config: MachineConfig, case: Case, fused: bool) -> None:
    b = Builder(CASES.index(case))
    outputs = case(b)
    check(config, b.graph(*outputs), [b.ops] if fused else None)


def test_views_cost_no_instructions() -> None:
    """Concat, slice, reshape and interleave only move what their neighbours load and save."""
    b = Builder(1)
    x = b.input(8, 6, 20)
    parts = [b.conv(x, c, (1, 1)) for c in (7, 9)]
    joined = b.view(Concat, "join", tuple(parts), (1, 8, 6, 16))
    middle = b.view(Slice, "middle", (joined,), (1, 4, 3, 5), begin=(1, 1, 4), step=(2, 2))
    small = b.conv(middle, 6)
    four = b.view(Interleave, "four", tuple(b.conv(small, 3, (1, 1)) for _ in range(4)), (1, 8, 6, 3), block=(2, 2))
    flat = b.view(Reshape, "flat", (b.conv(four, 4),), (1, 1, 1, 192))
    emitted = check(BASE, b.graph(b.conv(flat, 10, (1, 1)), joined))
    assert emitted.views[parts[1]].offset - emitted.views[joined].offset == 7
    assert emitted.views[middle].step == 2 * 16


def test_rows_are_loaded_once() -> None:
    """A single layer loads every row of its input once, whatever its kernel and tile."""
    b = Builder(2)
    graph = b.graph(b.conv(b.input(60, 56, 64), 64, (5, 5)))
    plan = plan_group(BASE, make_group(BASE, graph, b.ops))
    (source,) = plan.group.inputs
    (each,) = plan.passes
    made = [each.ranges.made(source, step) for step in range(plan.steps)]
    assert plan.steps > 1
    assert made[0][0] == 0
    assert made[-1][1] == 60
    assert all(left[1] == right[0] for left, right in pairwise(made))


def test_equal_graphs_give_equal_programs() -> None:
    def emit() -> tuple[int, ...]:
        b = Builder(7)
        return build(ZU2, b.graph(*inverted_bottleneck(b)), [b.ops]).words

    assert emit() == emit()


def test_a_layer_that_fits_nowhere_is_refused() -> None:
    b = Builder(3)
    graph = b.graph(b.conv(b.input(4, 4, 3200), 8))
    words = r"takes 7201 words, 7200 of them for x0 \(feature-map buffer: 3072\)"
    with pytest.raises(FitError, match=rf"layer conv0: no tiling fits configuration nano: .* {words}"):
        plan_group(NANO, make_group(NANO, graph, b.ops))


def test_groups_that_wait_for_each_other_are_refused() -> None:
    b = Builder(4)
    x = b.input(6, 6, 8)
    y = b.conv(b.conv(b.conv(x, 8), 8), 8)
    graph = b.graph(y)
    with pytest.raises(TilewrightError, match="wait for each other; split one of them"):
        ordered_groups(graph, [(b.ops[0], b.ops[2]), (b.ops[1],)])
    with pytest.raises(TilewrightError, match="operation conv1 is in no group"):
        ordered_groups(graph, [(b.ops[0],), (b.ops[2],)])


def test_random_partitions_compute_the_same() -> None:
    """Any cut of a chain with a branch into consecutive groups is right."""
    rng = np.random.default_rng(5)
    for seed in range(4):
        b = Builder(seed)
        x = b.conv(b.input(19, 17, 12), 16)
        y = b.conv(x, 16, (3, 3), groups=16)
        z = b.eltwise(EltwiseKind.ADD, b.conv(y, 16, (1, 1)), x)
        graph = b.graph(b.pool(z, PoolKind.MAX))
        assert len(one_each(graph)) == 5
        cuts = [0, *sorted(rng.choice(np.arange(1, 5), 2, replace=False)), 5]
        check(NANO, graph, [b.ops[a:z] for a, z in pairwise(cuts)])
