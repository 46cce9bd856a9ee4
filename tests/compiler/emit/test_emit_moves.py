"""What a plan moves between DRAM and chip, and in how many pieces: told before it is emitted, and as its program has it."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby

import pytest

from compiler.emit.group import emit_plan
from compiler.emit.parameters import Parameters, UnpackedImage
from compiler.instructions.pending import Pending, Space
from compiler.memory.lifetimes import ALIGN
from compiler.memory.storage import storage_of
from compiler.planning.grouping import make_group, one_each
from compiler.planning.homes import Homes
from compiler.planning.objective import CYCLES, DRAM, Objective
from compiler.planning.plan import Plan
from compiler.planning.plan_partition import plans_of
from compiler.planning.transfers import transfers
from compiler.planning.written_over import leads_in_bands, leads_of
from compiler.xgraph.graph import XGraph
from compiler.xgraph.ops import EltwiseKind
from isa.config import MachineConfig, config_from_dict
from tests.compiler.graphs import Builder

SMALL = config_from_dict({"base": "nano", "name": "small", "fm_depth": 64, "weight_depth": 24}, origin="test")
TINY = config_from_dict({"base": "nano", "name": "tiny", "fm_depth": 32, "weight_depth": 64, "acc_depth": 8}, origin="test")

GAP = 90 * 8
"""A row of the largest map that goes in column tiles."""


def plans(config: MachineConfig, graph: XGraph, objective: Objective = CYCLES, bands: int = 1) -> list[Plan]:
    return [step for step in plans_of(config, graph, one_each(graph), objective, bands=bands) if isinstance(step, Plan)]


def homes(graph: XGraph, plan: Plan) -> Homes:
    """Every map in its own storage."""
    views = {name: home.view for name, home in storage_of(graph).items()}
    return Homes({name: views[name] for name in plan.group.inputs}, {name: (views[name],) for name in plan.group.outputs})


def emitted(config: MachineConfig, graph: XGraph, plan: Plan) -> list[Pending]:
    return emit_plan(config, plan, homes(graph, plan), Parameters(config, UnpackedImage(config)))


def images(batch: int) -> XGraph:
    """On a small machine some of it runs in passes that keep their input, all of which one image takes before the next."""
    b = Builder(1)
    x = b.conv(b.input(7, 6, 8, batch), 24, (1, 1))
    y = b.eltwise(EltwiseKind.ADD, b.conv(x, 40), b.conv(x, 40, (1, 1)))
    return b.graph(y, b.conv(x, 30, (1, 1), (2, 2)))


def columns(batch: int) -> XGraph:
    b = Builder(0)
    return b.graph(b.conv(b.conv(b.input(5, 90, 8, batch), 7), 6))


def stretches(moves: Sequence[tuple[bool, Space, int, int]]) -> list[tuple[bool, Space, int, int]]:
    """Rows in pieces as one move, whatever lies between the rows of a column tile."""
    found: list[tuple[bool, Space, int, int]] = []
    for saved, space, begin, end in moves:
        if found and found[-1][:2] == (saved, space) and 0 <= begin - found[-1][3] < GAP:
            found[-1] = saved, space, found[-1][2], end
        else:
            found.append((saved, space, begin, end))
    return found


@pytest.mark.parametrize("batch", [1, 3])
@pytest.mark.parametrize("objective", [CYCLES, DRAM], ids=lambda objective: objective.name)
def test_transfers_of_batches_in_passes_are_those_of_the_program(batch: int, objective: Objective) -> None:
    held = tiles = 0
    for config, graph in ((SMALL, images(batch)), (TINY, columns(batch))):
        for plan in plans(config, graph, objective):
            told = [(m.saved, m.access.space, m.access.start, m.access.start + m.access.length)
                    for m in transfers(plan, homes(graph, plan))]  # fmt: skip
            made = [(p.name == "SAVE", a.space, a.start, a.start + a.length) for p in emitted(config, graph, plan)
                    if p.name in ("LOAD", "SAVE") for a in (p.writes if p.name == "SAVE" else p.reads)]  # fmt: skip
            of_dram = [move for move in made if move[1] is Space.WORK]
            assert stretches(of_dram) == stretches(told)
            held += bool(plan.held)
            tiles += plan.tiles > 1
    assert held > 0 or batch == 1
    assert tiles > 0


def test_the_first_and_the_last_block_come_in_pieces_and_those_between_in_one() -> None:
    """The first begins as soon as some rows are there, the last lets rows go as soon as they are made."""
    config = config_from_dict({"base": "nano", "name": "few", "weight_depth": 60}, origin="test")
    b = Builder(0)
    graph = b.graph(b.conv(b.input(12, 4, 8), 24))
    (plan,) = plans(config, graph)
    blocks = plan.passes[0].residence.blocks["conv0_out"]
    assert len(blocks) > 3
    assert plan.passes[0].residence.stay["conv0_out"] == 0
    assert all(block.divisible for block in blocks)
    runs = groupby(emitted(config, graph, plan), lambda p: p.name)
    heights = [[p.values["o_h"] for p in run] for name, run in runs if name == "CONV"]
    rows = 12 // plan.steps
    assert rows > 1
    once = [[1] * rows, *([[rows]] * (len(blocks) - 2)), [1] * rows]
    assert heights == once * plan.steps


def test_blocks_that_stay_are_loaded_once_for_all_steps_and_images() -> None:
    b = Builder(0)
    graph = b.graph(b.conv(b.input(40, 12, 16, 3), 16))
    (plan,) = plans(config_from_dict({"base": "nano", "name": "some", "fm_depth": 32}, origin="test"), graph)
    assert plan.steps > 1
    loads = [p for p in emitted(SMALL, graph, plan) if p.name == "LOADP"]
    assert len({(p.values["buffer"], p.values["dst"]) for p in loads}) == len(loads) == 2


def test_leads_are_whole_granules_and_told_before_of_bands() -> None:
    """By plain replay of rows band by band: what a band saves lies below what it and later ones load."""
    b = Builder(2)
    graph = b.graph(b.conv(b.conv(b.input(24, 80, 4), 8), 4, (3, 3), (2, 2)))
    group = make_group(TINY, graph, b.ops)
    (source,), (target,) = group.inputs, group.outputs
    found = []
    for bands in (1, 2, 3, 5, 12, 100):
        told = leads_in_bands(TINY, graph, group, bands)
        assert told.keys() == {(source, target)}
        count = min(bands, graph.tensors[target].height)
        ends = [12 * (n + 1) // count for n in range(count)]
        firsts = [0, *ends[:-1]]
        # Row y of the output reads rows 2 y - 2 to 2 y + 2 of the input, padding apart: 320 bytes each; its own are 160.
        need = max(160 * ends[n] - 320 * max(0, 2 * firsts[n] - 2) for n in range(count))
        assert told[source, target] == max(0, -(-need // ALIGN) * ALIGN)
        (plan,) = (p for p in plans_of(TINY, graph, [b.ops], DRAM, bands=bands) if isinstance(p, Plan))
        if bands > 1:
            assert leads_of(graph, plan)[source, target] <= told[source, target]
        found.append(told[source, target])
    assert found == sorted(found, reverse=True)
    assert found[0] > found[-1]


def test_a_map_goes_to_every_view_it_is_saved_to() -> None:
    b = Builder(0)
    graph = b.graph(b.conv(b.input(5, 4, 8), 8))
    (plan,) = plans(SMALL, graph)
    one = homes(graph, plan)
    (view,) = one.save["conv0_out"]
    both = Homes(one.load, {"conv0_out": (view, view.channels_from(3, 8))})
    saved = [m for m in transfers(plan, both) if m.saved]
    assert sum(m.access.length for m in saved if m.access.start % 8 == 0) == 5 * 4 * 8
    assert sum(m.access.length for m in saved if m.access.start % 8 == 3) == 5 * 4 * 8
    emits = emit_plan(SMALL, plan, both, Parameters(SMALL, UnpackedImage(SMALL)))
    rows = [(p.values["offset"] % 8, p.values["rows"]) for p in emits if p.name == "SAVE"]
    assert [sum(n for at, n in rows if at == first) for first in (0, 3)] == [5, 5]
