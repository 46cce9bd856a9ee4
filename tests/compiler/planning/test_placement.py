"""Where maps lie: planes by turns in either half of the banks, as long as the buffer has room."""

from __future__ import annotations

from dataclasses import replace

from compiler.planning.grouping import make_group
from compiler.planning.planner import plan_group
from compiler.xgraph.ops import PoolKind
from isa.config import MachineConfig, preset
from tests.compiler.graphs import Builder, check


def distances(config: MachineConfig) -> set[int]:
    """From plane to plane, modulo the banks over which words are interleaved: 8 x 8 maps of three channel vectors."""
    b = Builder(0)
    x = b.input(8, 8, 48)
    graph = b.graph(b.pool(b.conv(x, 48, (1, 1)), PoolKind.MAX))
    check(config, graph, [b.ops])
    plan = plan_group(config, make_group(config, graph, b.ops))
    return {placed.plane % config.fm_phases for placed in plan.passes[0].placed.values()}


def test_the_channel_vectors_of_a_pixel_alternate_between_the_halves_of_the_banks() -> None:
    base = preset("base")
    assert base.fm_phases == 4
    assert distances(base) == {2}


def test_planes_lie_close_where_nothing_else_fits() -> None:
    """The rings of the only plan that fits take all words there are."""
    b = Builder(0)
    graph = b.graph(b.conv(b.input(4, 8, 64), 64, (1, 1)))
    small = replace(preset("base"), fm_banks=4, fm_depth=16)
    plan = plan_group(small, make_group(small, graph, b.ops))
    placements = plan.passes[0].placed.values()
    assert sum(placed.words for placed in placements) == small.fm_words
    assert {placed.plane % small.fm_phases for placed in placements} == {0}
    check(small, graph, [b.ops])
