"""What a tile of a group needs of each map."""

from __future__ import annotations

from compiler.fusion.legal import OpSets
from compiler.papers.tiles import COLUMNS, ROWS, Tiles
from compiler.xgraph.ops import EltwiseKind, PoolKind
from tests.compiler.graphs import Builder


def tiles_of(b: Builder, *outputs: str) -> Tiles:
    sets = OpSets(b.graph(*(outputs or (b.ops[-1].output,))))
    return Tiles(sets, sets.everything)


def test_the_example_of_optimus_figure_6() -> None:
    """A tile of 3 x 3 needs 5 x 5 of the map before it, and 7 x 7 of the input."""
    b = Builder(0)
    b.conv(b.conv(b.input(14, 14, 8), 8), 8)
    tiles = tiles_of(b)
    assert tiles.needed(3, ROWS) == tiles.needed(3, COLUMNS) == {"x0": 7, "conv0_out": 5, "conv1_out": 3}


def test_no_tile_needs_more_than_there_is() -> None:
    b = Builder(0)
    b.conv(b.conv(b.input(6, 6, 8), 8), 8)
    assert tiles_of(b).needed(5, ROWS) == {"x0": 6, "conv0_out": 6, "conv1_out": 5}


def test_strides_and_the_greater_of_two_readers() -> None:
    b = Builder(0)
    x = b.conv(b.input(16, 16, 8), 8, (1, 1))
    b.eltwise(EltwiseKind.ADD, b.conv(x, 8), b.conv(x, 8, (1, 1)))
    assert tiles_of(b).needed(2, ROWS)[x] == 4
    b = Builder(0)
    b.pool(b.conv(b.input(16, 16, 8), 8), PoolKind.MAX, 2, 2)
    assert tiles_of(b).needed(2, ROWS) == {"x0": 6, "conv0_out": 4, "max1_out": 2}


def test_outputs_of_different_heights_have_equal_shares() -> None:
    b = Builder(0)
    x = b.conv(b.input(16, 16, 8), 8, (1, 1))
    small = b.pool(x, PoolKind.MAX, 2, 2)
    assert tiles_of(b, x, small).needed(4, ROWS) == {"x0": 4, x: 4, small: 2}
