"""The schedule of a program says all that was decided: a plan made from it alone is the same plan."""

from __future__ import annotations

from dataclasses import replace

import pytest

import compiler.emit
from compiler.emit.described import group_schedule, schedule_of, schedule_text
from compiler.emit.places import APART, Sharing, offsets_of
from compiler.emit.program import emit_program
from compiler.planning.grouping import one_each
from compiler.planning.objective import CYCLES, DRAM
from compiler.planning.plan import Plan
from compiler.planning.plan_partition import plans_of
from compiler.planning.residence import PARAMETER_BUFFERS
from compiler.schedule.document import Stay
from compiler.xgraph.graph import XGraph
from compiler.xgraph.ops import Cpu
from isa.config import MachineConfig, preset
from tests.compiler.emit.test_emit_moves import SMALL, TINY, columns, images
from tests.compiler.graphs import Builder
from tests.values import changeable

CASES = [(SMALL, images(1)), (SMALL, images(3)), (TINY, columns(1)), (preset("nano"), images(2))]


@pytest.mark.parametrize(("config", "graph"), CASES, ids=["passes", "batch", "tiles", "nano"])
def test_a_plan_made_from_its_schedule_is_the_same(config: MachineConfig, graph: XGraph) -> None:
    """Though planned for another objective, which alone would decide otherwise."""
    steps = plans_of(config, graph, one_each(graph), DRAM)
    plans = [step for step in steps if isinstance(step, Plan)]
    wanted = {frozenset(layer.op for layer in plan.group.layers): group_schedule(config, plan) for plan in plans}
    again = plans_of(config, graph, one_each(graph), CYCLES, wanted=wanted)
    assert emit_program(config, graph, again).words == emit_program(config, graph, steps).words
    assert [group_schedule(config, plan) for plan in again if isinstance(plan, Plan)] == [*wanted.values()]


@pytest.mark.parametrize(("config", "graph"), CASES, ids=["passes", "batch", "tiles", "nano"])
def test_each_decision_is_told_as_it_is_in_the_plan(config: MachineConfig, graph: XGraph) -> None:
    for plan in plans_of(config, graph, one_each(graph), DRAM):
        assert isinstance(plan, Plan)
        told = group_schedule(config, plan)
        assert (told.steps, told.pipelined, told.end) == (plan.steps, plan.pipelined, "bottom" if plan.upwards else "top")
        assert told.passes is not None
        assert told.tiles is not None
        assert (told.passes * told.tiles, told.tiles) == (plan.count, plan.tiles)
        assert told.held == tuple(plan.held)
        assert told.bands is None
        for name, ring in (told.rings or {}).items():
            placed = plan.way.placed[name]
            assert (ring.word, ring.rows, ring.pitch) == (placed.base, placed.ring, placed.pitch)
        each_pass = []
        for part in plan.passes:
            (layer,) = part.group.layers
            budget, blocks = part.residence.budgets[layer.output], part.residence.blocks[layer.output]
            used = {buffer for block in blocks for buffer in block.sizes}
            small = [b for b in PARAMETER_BUFFERS if b in used and budget[b] < config.buffer_depth(b.name)]
            less = {b.name.lower(): budget[b] for b in small}
            each_pass.append(Stay(part.residence.stay[layer.output], less) if used else None)
        (name,) = told.operations
        expected = each_pass[:1] if all(stay == each_pass[0] for stay in each_pass) else each_pass
        assert told.parameters == ({} if None in expected else {name: tuple(expected)})


def test_of_bands_it_is_said_how_many() -> None:
    graph = columns(1)
    (plan,) = (step for step in plans_of(TINY, graph, [graph.ops], DRAM, bands=3) if isinstance(step, Plan))
    assert plan.bands == 3
    told = group_schedule(TINY, plan)
    assert (told.operations, told.bands, told.end) == (("conv0", "conv1"), 3, "bottom")
    assert told == replace(told, steps=None, passes=None, rings=None, parameters=None)


@pytest.mark.parametrize("sharing", [APART, Sharing(host=True), Sharing(overlap=True)], ids=["apart", "host", "overlap"])
def test_a_whole_schedule_lists_all_steps_and_places(sharing: Sharing) -> None:
    b = Builder(1)
    y = b.conv(b.conv(b.input(6, 6, 8), 8), 8)
    b.ops.append(Cpu("last", (y,), (), b"", {}))
    graph = b.graph()
    config = preset("nano")
    steps = plans_of(config, graph, one_each(graph))
    told = schedule_of(config, graph, steps, sharing)
    assert [group.operations for group in told.groups] == [("conv0",), ("conv1",), ("last",)]
    assert told.groups[2].free
    assert not told.groups[0].free
    assert (told.listed, told.host_in_work, told.overlap) == (True, sharing.host, sharing.overlap)
    assert told.places == offsets_of(graph, steps, sharing)
    assert "Schedule of test: 2 groups on configuration nano." in schedule_text(config, graph, steps, sharing).splitlines()[0]


def test_what_is_not_asked_for_is_not_shared() -> None:
    assert Sharing() == APART == Sharing(host=False, overlap=False, given=None)


def test_only_what_is_being_filled_can_be_changed() -> None:
    assert changeable(compiler.emit) == {"ConstImage", "Ring"}
