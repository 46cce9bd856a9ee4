"""What a group is made of: which maps leave it, and over which pixels it goes."""

from __future__ import annotations

from dataclasses import replace

import pytest

from compiler.planning.grouping import make_group
from compiler.planning.plan_group import plan_group
from compiler.xgraph.graph import XGraph
from compiler.xgraph.ops import EltwiseKind
from isa.config import config_from_dict, preset
from isa.errors import TilewrightError
from tests.compiler.graphs import Builder, check
from tests.compiler.planning.bytes_moved import moved

NANO = preset("nano")


def tokens(width: int, inner: int = 16, height: int = 1, kernel: tuple[int, int] = (1, 1)) -> XGraph:
    """Two convolutions and a sum over maps of 8 channels, between them one of ``inner``."""
    b = Builder(1)
    x = b.input(height, width, 8)
    return b.graph(b.eltwise(EltwiseKind.ADD, b.conv(b.conv(x, inner, kernel), 8, (1, 1)), x))


def test_maps_stand_in_the_order_in_which_they_are_made() -> None:
    b = Builder(0)
    x = b.input(4, 4, 8)
    for _ in range(8):
        x = b.conv(x, 8, (1, 1))
    graph = b.graph(x)
    assert list(make_group(NANO, graph, graph.ops).tensors) == [graph.inputs[0], *(op.output for op in graph.ops)]


@pytest.mark.parametrize(
    ("width", "inner", "pixels"),
    [
        (64, 16, 0), (66, 16, 33), (128, 16, 32), (130, 16, 26), (190, 16, 38), (67, 16, 34), (134, 16, 27), (65, 16, 13),
        (68, 16, 34), (100, 600, 4), (130, 600, 4), (75, 8, 25), (195, 8, 39), (96, 8, 48), (104, 8, 26), (106, 8, 36),
    ],
)  # fmt: skip
def test_one_long_row_is_walked_over_in_rows_that_fill_it(width: int, inner: int, pixels: int) -> None:
    """Of 3072 words an eighth holds all maps: of ten a pixel 38, of eight 48, of many at least four. Where none divide, the
    last row lacks as few pixels as can be."""
    assert NANO.fm_words == 3072
    graph = tokens(width, inner)
    group = make_group(NANO, graph, graph.ops)
    assert group.row_pixels == pixels
    if pixels:
        assert {(t.height, t.width) for t in group.tensors.values()} == {(-(-width // pixels), pixels)}
        assert group.lacking == -width % pixels


def test_rows_are_at_most_of_64_pixels() -> None:
    graph = tokens(256)
    assert make_group(preset("base"), graph, graph.ops).row_pixels == 64


@pytest.mark.parametrize(("height", "kernel"), [(2, (1, 1)), (1, (1, 3))])
def test_maps_of_several_rows_and_windows_stay_as_they_are(height: int, kernel: tuple[int, int]) -> None:
    graph = tokens(128, 16, height, kernel)
    assert make_group(NANO, graph, graph.ops).row_pixels == 0


def test_a_row_that_is_read_in_part_stays_as_it_is() -> None:
    b = Builder(0)
    graph = b.graph(b.conv(b.input(1, 128, 8), 8, (1, 1), (1, 2)))
    assert make_group(NANO, graph, graph.ops).row_pixels == 0


@pytest.mark.parametrize("inner", [16, 600])
@pytest.mark.parametrize("width", [130, 128, 67, 197])
def test_long_rows_compute_the_same(width: int, inner: int) -> None:
    """Wide maps come in tiles of columns, of which the last may lack all pixels of the last row."""
    graph = tokens(width, inner)
    small = replace(NANO, fm_depth=64)
    emitted = check(small, graph, [graph.ops])
    plan = plan_group(small, make_group(small, graph, graph.ops))
    assert (plan.tiles > 1) == (inner == 600)
    assert plan.cost.dram_bytes == moved(small, emitted)


def dense(batch: int, width: int = 1) -> XGraph:
    b = Builder(2)
    y = b.conv(b.input(1, width, 24, batch), 40, (1, 1))
    return b.graph(b.eltwise(EltwiseKind.PASS, b.conv(y, 12, (1, 1)), table=True))


@pytest.mark.parametrize(("batch", "width", "stacked"), [(1, 1, False), (2, 1, True), (5, 1, True), (3, 2, False)])
def test_images_of_dense_layers_are_rows_of_one(batch: int, width: int, stacked: bool) -> None:
    """So parameters that do not stay on chip are loaded once for all images."""
    graph = dense(batch, width)
    small = config_from_dict({"base": "nano", "name": "small", "weight_depth": 24}, origin="test")
    group = make_group(small, graph, graph.ops)
    assert group.stacked == stacked
    if stacked:
        assert {(t.batch, t.height, t.width) for t in group.tensors.values()} == {(1, batch, 1)}
        one = dense(1)
        alone = plan_group(small, make_group(small, one, one.ops))
        assert plan_group(small, group).cost.dram_bytes < 2 * alone.cost.dram_bytes
    check(small, graph, [graph.ops])


def test_a_pool_of_one_pixel_is_no_dense_layer() -> None:
    b = Builder(2)
    graph = b.graph(b.conv(b.input(3, 3, 8, 2), 8, (3, 3), pads=(0, 0, 0, 0)))
    assert not make_group(NANO, graph, graph.ops).stacked


def test_pixels_that_all_readers_skip_are_not_loaded() -> None:
    for strides in (((2, 2), (2, 2)), ((2, 1), (2, 1)), ((2, 2), (2, 1)), ((2, 2), (1, 1))):
        sampled = strides[0] == strides[1]
        b = Builder(3)
        x = b.input(9, 8, 8)
        graph = b.graph(*(b.conv(x, 8, (1, 1), stride) for stride in strides))
        group = make_group(NANO, graph, graph.ops)
        assert group.sampled == ({"x0": strides[0]} if sampled else {})
        if sampled:
            s_y, s_x = strides[0]
            assert group.tensors["x0"].shape == (1, -(-9 // s_y), -(-8 // s_x), 8)
        check(NANO, graph, [graph.ops])


def test_what_somebody_else_reads_leaves_the_group() -> None:
    b = Builder(4)
    x = b.input(6, 6, 8)
    first = b.conv(x, 8)
    second = b.conv(first, 8)
    third = b.conv(second, 8)
    graph = b.graph(third, b.eltwise(EltwiseKind.ADD, first, third))
    for ops, inputs, outputs in (
        (graph.ops[:2], {x}, {first, second}), (graph.ops[1:3], {first}, {third}), (graph.ops[:3], {x}, {first, third}),
        (graph.ops[2:], {first, second}, set(graph.outputs)), (graph.ops, {x}, set(graph.outputs)),
    ):  # fmt: skip
        group = make_group(NANO, graph, ops)
        assert (set(group.inputs), set(group.outputs)) == (inputs, outputs)
    b = Builder(4)
    b.conv(b.input(6, 6, 8), 8)
    unread = b.graph()
    with pytest.raises(TilewrightError, match="group conv0: nothing reads what it computes; remove the operations"):
        make_group(NANO, unread, unread.ops)
