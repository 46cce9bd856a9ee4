"""What no program can undercut: by hand, and held against programs on the cycle model."""

from __future__ import annotations

from dataclasses import replace

import pytest

from compiler.planning.plan_partition import plans_of
from compiler.programs.timing import program_cycles
from compiler.search.cost import OBJECTIVES, Evaluator
from compiler.search.least_cycles import LeastCycles, least_cycles
from compiler.search.strategies import STRATEGIES
from compiler.xgraph.graph import XGraph
from compiler.xgraph.ops import Finish, PoolKind
from compiler.xgraph.products import Product
from isa.config import MachineConfig, config_from_dict, preset
from isa.instructions import Unit
from tests.compiler.graphs import Builder
from tests.compiler.search.partitions import random_graph

DEPTHS = {"weight_depth": 128, "param_depth": 8, "taps_depth": 16, "pool_param_depth": 8}
SMALL = config_from_dict({"base": "nano", "name": "small", **DEPTHS}, origin="test")
"""A word of weights is two beats of the bus, one of factors four."""


def least(config: MachineConfig, graph: XGraph) -> LeastCycles:
    return least_cycles(Evaluator(config, graph))


def map_and_vector(rows: int) -> XGraph:
    """A 3x3 convolution of 8 channels on 8 x 8 pixels, and one of so many rows of them that makes 64 channels of a pixel."""
    b = Builder(0)
    x = b.conv(b.input(8, 8, 8), 8)
    return b.graph(b.conv(x, 64, (rows, 8), (2, 1), pads=(0, 0, 0, 0)))


def test_parameters_come_no_earlier_than_there_is_room() -> None:
    """Words of weights: 36, and 2048 of which 128 fit; of factors: 2, and 16 of which 8 fit."""
    found = least(SMALL, map_and_vector(rows=8))
    first, second = 64 * 9 * 2 * 2, 64 * 2 * 16
    assert found.beats == {Unit.CONV: first + second}
    assert found.bus == 2 * (36 + 2048) + 4 * (2 + 16) + (64 * 8 + 64) // 8 - 2
    assert found.parameters == first + 2 * (2048 - 128) + 4 * (16 - 8)
    assert (found.cycles, found.reason) == (found.parameters, "parameters find no room earlier")


def test_rows_that_no_window_reads_need_not_be_there_before() -> None:
    """The second reads 7 rows of 8; it has 1792 words of weights."""
    assert least(SMALL, map_and_vector(rows=7)).parameters == 64 * 9 * 2 * 2 * 7 // 8 + 2 * (1792 - 128) + 4 * (16 - 8)


def test_a_long_row_counts_its_own_pixels_however_it_is_cut() -> None:
    """197 pixels are cut into rows, and the last lacks some. Finishing a chunk of a pixel takes four cycles."""
    b = Builder(0)
    graph = b.graph(b.conv(b.input(1, 197, 8), 8, (1, 1)))
    assert Evaluator(SMALL, graph).group(1).lacking
    assert least(SMALL, graph).beats == {Unit.CONV: 197 * 2 * 4}


def test_weights_that_are_made_of_a_map_count_its_bytes_and_no_factors() -> None:
    """200 pixels of 9 bytes make 50 chunks of 3 words; 64 words of 16 bytes fit."""
    b = Builder(0)
    x = b.conv(b.input(1, 20, 4), 9, (1, 1))
    second = b.input(1, 200, 9)
    scale = {"mantissa": 1 << 23, "shift": 30, "finish": Finish()}
    graph = b.graph(b.view(Product, "product", (x, second), (1, 1, 20, 200), turned=True, **scale))
    found = least(replace(SMALL, weight_depth=64, build_products=True), graph)
    assert found.parameters == 20 * 3 * 4 + (200 * 9 - 64 * 16) // 8


def test_before_a_transposed_convolution_no_beats_count() -> None:
    """The last rows of its phases are not the last rows of the map."""
    b = Builder(0)
    alone = least(SMALL, b.graph(b.transpose(b.input(8, 8, 8), 8)))
    b = Builder(0)
    x = b.transpose(b.conv(b.input(8, 8, 8), 8), 8)
    found = least(SMALL, b.graph(b.conv(x, 64, (16, 16), pads=(0, 0, 0, 0))))
    words, factors = 16 * 16 * 2 * 16, 16
    assert found.parameters == alone.beats[Unit.CONV] + 2 * (words - 128) + 4 * (factors - 8)


def test_parameters_that_fit_may_come_at_any_time() -> None:
    b = Builder(0)
    found = least(preset("nano"), b.graph(b.conv(b.conv(b.input(8, 8, 8), 8), 64)))
    assert found.parameters == 0
    assert (found.cycles, found.reason) == (found.beats[Unit.CONV], "CONV is at work in each of them")


def test_without_parameters_only_beats_and_maps_count() -> None:
    b = Builder(0)
    found = least(SMALL, b.graph(b.pool(b.input(8, 8, 8), PoolKind.MAX)))
    assert found.parameters == 0
    assert found.cycles == max(found.bus, found.beats[Unit.POOL])


def test_a_graph_without_operations_takes_nothing() -> None:
    b = Builder(0)
    assert least(SMALL, b.graph(b.input(8, 8, 8))).cycles == 0


@pytest.mark.parametrize("seed", range(20))
def test_no_program_is_faster(seed: int) -> None:
    graph = random_graph(seed)
    config = config_from_dict({"base": "nano", "name": "least", **DEPTHS, "weight_depth": 40}, origin="test")
    evaluator = Evaluator(config, graph)
    found = least_cycles(evaluator).cycles
    for strategy in ("naive", "best"):
        groups = STRATEGIES[strategy](graph, evaluator, OBJECTIVES["cycles"]).groups
        assert program_cycles(config, graph, plans_of(config, graph, groups)) >= found > 0
