"""DNNVM's section 4.3 by hand."""

from __future__ import annotations

from dataclasses import replace

from compiler.fusion.legal import OpSets
from compiler.papers.accelerator import Accelerator
from compiler.papers.dnnvm.tiles import DnnvmTiles
from compiler.papers.tiles import Tiles
from compiler.planning.objective import Cost
from compiler.xgraph.ops import PoolKind
from tests.compiler.graphs import Builder

MACHINE = Accelerator("test", maps=4096, parameters=1000, channels=8, rows=2, input_channels=8, bus_bytes=8)
MAP = 16 * 16 * 8
"""Bytes of a map: just half of the buffer."""


def conv(outputs: int = 8, channels: int = 8, kernel: int = 3, batch: int = 1) -> Tiles:
    b = Builder(0)
    b.conv(b.input(16, 16, channels, batch), outputs, (kernel, kernel))
    sets = OpSets(b.graph(b.ops[-1].output))
    return Tiles(sets, sets.everything)


def moved(machine: Accelerator, tiles: Tiles, parameters: int) -> int | None:
    cost = DnnvmTiles(machine, tiles, parameters, beats=0).cost()
    return None if cost is None else cost.dram_bytes


def test_what_fits_is_loaded_once() -> None:
    assert moved(MACHINE, conv(), 576) == 2 * MAP + 576


def test_an_input_that_does_not_fit_comes_again_for_each_chunk_of_output_channels() -> None:
    assert moved(replace(MACHINE, maps=4094), conv(24), 900) == 3 * MAP + 3 * MAP + 900


def test_weights_that_do_not_fit_come_again_for_each_tile() -> None:
    """Eight tiles of two rows; a chunk's weights are a third of all."""
    assert moved(MACHINE, conv(24), 3003) == MAP + 3 * MAP + 8 * 3003
    assert moved(MACHINE, conv(24), 3000) == MAP + 3 * MAP + 3000


def test_where_rows_do_not_fit_in_whole_those_that_tiles_share_come_again() -> None:
    """Room for the four rows under a tile in eight channels, but not in all sixteen: those that tiles share come twice."""
    small = replace(MACHINE, maps=2 * 4 * 16 * 8)
    assert moved(small, conv(8, 16), 900) == MAP + 16 * 8 * 4 * 16 + 900


def test_what_fits_at_no_width_has_no_cost() -> None:
    assert moved(replace(MACHINE, maps=2 * 95), conv(), 576) is None
    assert moved(replace(MACHINE, parameters=575), conv(), 576) is None


def fused() -> Tiles:
    b = Builder(0)
    b.pool(b.conv(b.input(16, 16, 8), 8), PoolKind.MAX, 2, 2)
    sets = OpSets(b.graph(b.ops[-1].output))
    return Tiles(sets, sets.everything)


def test_fused_operations_load_and_save_once_and_need_all_parameters() -> None:
    assert moved(MACHINE, fused(), 576) == MAP + MAP // 4 + 576
    assert moved(MACHINE, fused(), 1001) is None


def test_columns_that_fused_tiles_share_come_twice() -> None:
    """Tiles of two rows and four of eight columns: of six rows under them ten columns each, in eight channels: 480 bytes."""
    cost = moved(replace(MACHINE, maps=960), fused(), 576)
    assert cost == MAP + MAP // 4 + 576 + 4 * 16 * 8


def test_time_is_that_of_loading_computing_and_saving() -> None:
    cost = DnnvmTiles(MACHINE, conv(), 576, beats=1000).cost()
    assert cost == Cost(1000 + (2 * MAP + 576) // 8, 2 * MAP + 576)
