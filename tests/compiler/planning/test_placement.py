"""Where maps lie: planes by turns in either half of the banks, as long as the buffer has room."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest

from compiler.emit.program import emit_program
from compiler.layers.placed import Placed
from compiler.planning.grouping import make_group
from compiler.planning.plan_group import plan_group
from compiler.schedule.document import GroupSchedule
from compiler.xgraph.ops import EltwiseKind, PoolKind
from isa.config import MachineConfig, preset
from isa.instructions import Unit
from tests.compiler.graphs import Builder, check, check_emitted


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


def inverted(b: Builder, channels: int = 16) -> str:
    """Point-wise, depthwise, point-wise, and the sum with what went in."""
    x = b.input(16, 16, channels)
    wide = b.conv(x, 6 * channels, (1, 1))
    return b.eltwise(EltwiseKind.ADD, b.conv(b.conv(wide, 6 * channels, groups=6 * channels), channels, (1, 1)), x)


def bank_groups(config: MachineConfig, placed: Placed) -> set[int]:
    size = config.fm_phases * config.fm_depth
    return {*range(placed.base // size, (placed.base + placed.words - 1) // size + 1)}


@pytest.mark.parametrize("upwards", [True, False])
def test_what_pool_reads_lies_in_other_bank_groups_than_what_conv_reads(upwards: bool) -> None:
    b = Builder(0)
    graph = b.graph(inverted(b))
    few = replace(preset("base"), fm_banks=12, fm_depth=256)
    plan = plan_group(few, make_group(few, graph, b.ops), upwards=upwards)
    of_unit: dict[Unit, set[int]] = {}
    for layer in plan.group.layers:
        for name in plan.group.sources(layer):
            of_unit.setdefault(layer.unit, set()).update(bank_groups(few, plan.way.placed[name]))
    assert of_unit[Unit.POOL].isdisjoint(of_unit[Unit.CONV])
    assert len(plan.way.placed) > few.fm_banks // few.fm_phases, "each ring has no bank group of its own"
    check(few, graph, [b.ops])


def test_where_pool_has_time_to_wait_rings_lie_as_they_come() -> None:
    """A maximum behind a 3x3 convolution of many channels."""
    b = Builder(0)
    x = b.input(16, 16, 64)
    graph = b.graph(b.conv(b.conv(b.pool(b.conv(x, 64), PoolKind.MAX), 64), 16, (1, 1)))
    few = replace(preset("base"), fm_banks=12, fm_depth=512)
    group = make_group(few, graph, b.ops)
    placed = plan_group(few, group).way.placed
    assert sorted(placed, key=lambda name: placed[name].base) == [*group.maps]


def in_place(b: Builder) -> str:
    return b.eltwise(EltwiseKind.PASS, b.input(20, 6, 4), table=True)


def transposed(b: Builder) -> str:
    """Even rows before odd ones, in blocks of which only the first and the last are cut into pieces of rows."""
    return b.transpose(b.input(10, 6, 4), 64)


@pytest.mark.parametrize("pipelined", [False, True])
@pytest.mark.parametrize("made", [in_place, transposed])
def test_rows_that_no_window_reads_have_places_of_their_own(made: Callable[[Builder], str], pipelined: bool) -> None:
    """Of 20 rows in two steps, the second makes 9 to 18; its pool reads from row 10 on."""
    b, config = Builder(0), preset("nano")
    graph = b.graph(b.pool(made(b), PoolKind.MAX, 1, 2))
    wanted = GroupSchedule((), steps=2, pipelined=pipelined)
    plan = plan_group(config, make_group(config, graph, b.ops), wanted=wanted)
    check_emitted(config, graph, emit_program(config, graph, [plan]))


@pytest.mark.parametrize("steps", [5, 10, 12])
def test_rows_above_a_crop_have_places_of_their_own(steps: int) -> None:
    """Of the 5 rows and more of the first step, the convolution, which runs behind, reads from row 4 on."""
    b, config = Builder(0), preset("nano")
    graph = b.graph(b.conv(in_place(b), 4, (2, 2), pads=(-4, 0, 0, 0)))
    plan = plan_group(config, make_group(config, graph, b.ops), wanted=GroupSchedule((), steps=steps, pipelined=True))
    check_emitted(config, graph, emit_program(config, graph, [plan]))
