"""The dataflows of Optimus' table 4 by hand, and that fusion never moves more than layers alone."""

from __future__ import annotations

from math import inf

import pytest

from compiler.papers.accelerator import Accelerator
from compiler.papers.as_written import choose_optimus
from compiler.papers.optimus.architectures import (
    ARCHITECTURES,
    OnArchitecture,
    layer_of,
    output_stationary,
    row_stationary,
    sums_stationary,
)
from compiler.planning.objective import DRAM
from compiler.search.partition import price_of
from compiler.search.strategies import STRATEGIES
from compiler.xgraph.ops import Conv
from isa.config import preset
from tests.compiler.graphs import Builder
from tests.compiler.search.partitions import all_groups, all_partitions, random_graph


def conv() -> tuple[Builder, Conv]:
    """3 x 3 over 16 x 16 pixels, 4 to 8 channels: 1024 words in, 288 of weights, 2048 out."""
    b = Builder(0)
    b.conv(b.input(16, 16, 4), 8)
    op = b.ops[-1]
    assert isinstance(op, Conv)
    return b, op


def machine(maps: int, parameters: int | None = None) -> Accelerator:
    return Accelerator("test", maps, parameters, 4, 1, 1, 8)


def test_what_fits_whole_is_loaded_once() -> None:
    b, op = conv()
    layer = layer_of(b.graph(op.output), op)
    assert row_stationary(machine(2048 + 256), layer, 1) == 1024 + 288
    assert output_stationary(machine(2 * 1024, 288), layer, 1) == 1024 + 288
    assert sums_stationary(machine(2048), layer, 1) == 1024 + 288


def test_a_smaller_buffer_loads_inputs_or_weights_again() -> None:
    b, op = conv()
    layer = layer_of(b.graph(op.output), op)
    # Two blocks of eight rows, ten rows under each: 1280 words; or four channels at a time: the input twice.
    assert sums_stationary(machine(1024), layer, 1) == 1280 + 2 * 288
    # Rows under eight in four channels are 640 words; weights come for both blocks, if they do not stay.
    assert output_stationary(machine(2 * 640, 288), layer, 1) == 1280 + 288
    assert output_stationary(machine(2 * 640, 287), layer, 1) == 1280 + 2 * 288
    assert row_stationary(machine(8), layer, 1) == inf


@pytest.mark.parametrize("name", ARCHITECTURES)
@pytest.mark.parametrize("seed", range(6))
def test_no_operation_alone_moves_more_than_its_accelerator_and_fusion_no_more_than_all_alone(seed: int, name: str) -> None:
    by = OnArchitecture(preset("nano"), random_graph(seed), architecture=name)
    alone = [by.alone(op) for op in by.sets.ops]
    for n, moved in enumerate(alone):
        cost = by.cost_of(1 << n, DRAM)
        assert cost is not None
        assert cost.dram_bytes <= moved
    found = choose_optimus(by)
    assert found.value <= sum(alone)
    assert {by.sets.mask(group) for group in found.groups} <= set(all_groups(by.sets, by.sets.joins))


@pytest.mark.parametrize("name", ARCHITECTURES)
@pytest.mark.parametrize("seed", range(6))
def test_no_partition_moves_less_than_the_bound_and_the_best_is_found(seed: int, name: str) -> None:
    by = OnArchitecture(preset("nano"), random_graph(seed, 6), architecture=name)
    sets = by.sets
    fitting = [mask for mask in all_groups(sets, sets.joins) if by.cost_of(mask, DRAM) is not None]
    partitions = (p for p in all_partitions(sets, fitting) if sets.in_order(p) is not None)
    least = min(sum(price_of(by, DRAM, mask) for mask in p) for p in partitions)
    for strategy in ("best", "optimus-as-written"):
        found = STRATEGIES[strategy](by.graph, by, DRAM)
        assert found.bound <= least == found.value


@pytest.mark.parametrize("name", ARCHITECTURES)
def test_a_partition_is_of_the_accelerator_whatever_the_strategy(name: str) -> None:
    by = OnArchitecture(preset("nano"), random_graph(3, 6), architecture=name)
    for strategy in STRATEGIES.values():
        found = strategy(by.graph, by, DRAM)
        assert found.value == sum(price_of(by, DRAM, by.sets.mask(group)) for group in found.groups)
