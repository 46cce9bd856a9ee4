"""Equations 3 and 4 by hand, and beside trying every tile."""

from __future__ import annotations

from dataclasses import replace

import pytest

from compiler.fusion.legal import OpSets
from compiler.papers.accelerator import Accelerator
from compiler.papers.optimus.memory_cost import MapFootprint, memory_cost
from compiler.papers.tiles import ROWS, Tiles
from tests.compiler.graphs import Builder
from tests.compiler.search.partitions import all_groups, random_graph

MACHINE = Accelerator("test", maps=1000, parameters=100, channels=4, rows=1, input_channels=4, bus_bytes=8)


def pair(batch: int = 1) -> Tiles:
    """Two 1x1 convolutions on 8 x 8 pixels: 8, 16 and 8 channels."""
    b = Builder(0)
    b.conv(b.conv(b.input(8, 8, 8, batch), 16, (1, 1)), 8, (1, 1))
    sets = OpSets(b.graph(b.ops[-1].output))
    return Tiles(sets, sets.everything)


def test_in_advance_the_map_between_needs_all_channels_and_those_beside_it_some() -> None:
    footprint = MapFootprint(MACHINE, pair())
    assert footprint.in_advance == {"conv0_out"} or footprint.in_advance == {"x0", "conv1_out"}
    assert footprint.bytes(1, 8) == 8 * min(8 + 4 + 8, 4 + 16 + 4)
    assert MapFootprint(MACHINE, pair(), advance=False).bytes(1, 8) == 8 * (8 + 16 + 8)


def test_parameters_that_all_stay_count_once() -> None:
    assert memory_cost(MACHINE, pair(), parameters=100) == 2 * 8 * 8 * 8 + 100


def test_parameters_that_do_not_stay_count_once_for_each_tile() -> None:
    """20 channels of 8 pixels a row: 6 rows fit in 1000 bytes, so two tiles; 3 rows without invoking in advance."""
    assert memory_cost(MACHINE, pair(), parameters=101) == 2 * 8 * 8 * 8 + 2 * 101
    assert memory_cost(MACHINE, pair(), parameters=101, advance=False) == 2 * 8 * 8 * 8 + 3 * 101


def test_what_fits_at_no_tile_has_no_cost() -> None:
    assert memory_cost(replace(MACHINE, maps=159), pair(), parameters=1) is None
    assert memory_cost(replace(MACHINE, maps=160), pair(), parameters=1) is not None
    assert memory_cost(replace(MACHINE, maps=1000, rows=7), pair(), parameters=101) is None


def test_images_of_a_batch_are_further_tiles() -> None:
    """Five images of 1280 bytes: two tiles each, or two to a tile."""
    assert memory_cost(MACHINE, pair(5), parameters=101) == 5 * 2 * 8 * 8 * 8 + 10 * 101
    assert memory_cost(replace(MACHINE, maps=2560), pair(5), parameters=101) == 5 * 2 * 8 * 8 * 8 + 3 * 101


def test_one_buffer_for_maps_and_parameters() -> None:
    shared = replace(MACHINE, parameters=None)
    assert memory_cost(shared, pair(), parameters=840) == 2 * 8 * 8 * 8 + 840
    assert memory_cost(shared, pair(), parameters=841) == 2 * 8 * 8 * 8 + 2 * 841


@pytest.mark.parametrize("seed", range(8))
def test_no_tile_that_fits_moves_less(seed: int) -> None:
    """Every group of a random graph, at every height of a tile."""
    sets = OpSets(random_graph(seed))
    for mask in all_groups(sets, sets.feeds):
        for room in (150, 300, 600):
            machine, tiles = replace(MACHINE, maps=room), Tiles(sets, mask)
            used = MapFootprint(machine, tiles)
            height = tiles.most(ROWS)
            moved = [
                tiles.map_bytes + -(-height // rows) * 500 for rows in range(1, height + 1) if used.bytes(rows, 6) <= room
            ]  # fmt: skip
            assert memory_cost(machine, tiles, parameters=500) == min(moved, default=None)
