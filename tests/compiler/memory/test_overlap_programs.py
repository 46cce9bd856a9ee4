"""Programs whose outputs lie over their inputs: what they move, where, and that every bit is right on simulator and RTL."""

from __future__ import annotations

import random
from collections.abc import Sequence
from itertools import islice

import numpy as np
import pytest

from compiler.emit.group import emit_plan
from compiler.emit.parameters import ConstImage, Parameters
from compiler.emit.places import Sharing
from compiler.emit.program import emit_program
from compiler.fusion.legal import OpSets
from compiler.instructions.pending import Space
from compiler.memory.storage import storage_of
from compiler.planning.grouping import one_each
from compiler.planning.homes import Homes
from compiler.planning.plan import Plan
from compiler.planning.plan_partition import plans_of
from compiler.planning.transfers import Transfer, transfers
from compiler.planning.written_over import leads_of
from compiler.programs.frugal import placed
from compiler.xgraph.graph import XGraph
from compiler.xgraph.ops import Cpu, EltwiseKind, PoolKind
from compiler.xgraph.reference import execute
from isa.config import preset
from isa.instructions import Unit
from tests.compiler.graphs import Builder, run_functional
from tests.compiler.search.partitions import all_groups, all_partitions, random_graph

CONFIG = preset("nano")
ALL = Sharing(host=True, overlap=True)


def equal(graph: XGraph, steps: Sequence[Plan | Cpu], sharing: Sharing, rtl: bool = False) -> int:
    """Every output is the reference's, free of races; the bytes that it takes."""
    emitted = emit_program(CONFIG, graph, steps, sharing)
    rng = np.random.default_rng(0)
    inputs = {name: rng.integers(-128, 128, graph.tensors[name].shape).astype(np.int8) for name in graph.inputs}
    expected = execute(graph, inputs)
    for name, value in run_functional(CONFIG, graph, emitted, inputs, rtl).items():
        assert np.array_equal(value, expected[name]), name
    return emitted.work_bytes + emitted.input_bytes + emitted.output_bytes


def test_the_convolution_of_figure_5_takes_less_than_in_the_paper() -> None:
    """12 096 bytes apart and 8240 in the paper, of four bytes each; here the rows that are still needed are on chip."""
    b = Builder(0)
    graph = b.graph(b.conv(b.input(8, 64, 3), 16, (4, 4), (2, 2), (0, 0, 0, 0)))
    steps = plans_of(CONFIG, graph, one_each(graph))
    source, target = 8 * 64 * 3, 3 * 31 * 16
    assert 4 * (source + target) == 12_096
    assert equal(graph, steps, ALL) == max(source, -(-target // 64) * 64) == 1536
    assert 4 * 1536 <= 8240


def tall(seed: int) -> XGraph:
    """Maps of many rows, so that groups have many steps; a map that grows, one that shrinks, a sum, two images."""
    b = Builder(seed)
    rng = random.Random(seed)
    x = b.input(40, 12, 16, n=1 + seed % 2)
    for _ in range(4):
        kind = rng.choice(["same", "less", "more", "pool", "sum", "point"])
        if kind == "pool":
            x = b.pool(x, PoolKind.MAX, 3, 1, 1)
        elif kind == "sum":
            x = b.eltwise(EltwiseKind.ADD, b.conv(x, 16 if b.tensors[x].channels == 16 else b.tensors[x].channels), x)
        else:
            channels = {"same": 16, "less": 5, "more": 40, "point": 24}[kind]
            x = b.conv(x, channels, (1, 1) if kind == "point" else (rng.choice([3, 5]),) * 2)
    return b.graph(x)


@pytest.mark.parametrize("seed", [*range(4), *(pytest.param(seed, marks=pytest.mark.slow) for seed in range(4, 8))])
def test_tall_maps_slide_over_each_other(seed: int) -> None:
    graph = tall(seed)
    steps = plans_of(CONFIG, graph, one_each(graph))
    assert placed(graph, steps, Sharing(overlap=True)).bytes <= placed(graph, steps).bytes
    assert equal(graph, steps, ALL) == placed(graph, steps, ALL).bytes < placed(graph, steps).bytes


def test_random_graphs_in_random_partitions() -> None:
    saved = 0
    for seed in range(30):
        graph = random_graph(seed, 6)
        sets = OpSets(graph)
        partitions = (p for p in all_partitions(sets, all_groups(sets, sets.feeds)) if sets.in_order(p) is not None)
        partition = random.Random(seed).choice(list(islice(partitions, 20)))
        steps = plans_of(CONFIG, graph, [sets.members(mask) for mask in partition])
        for sharing in (Sharing(overlap=True), ALL):
            apart = placed(graph, steps, Sharing(host=sharing.host)).bytes
            found = equal(graph, steps, sharing)
            assert found <= apart, f"seed {seed}"
            saved += found < apart
    assert saved > 10


@pytest.mark.parametrize("seed", [0, 3])
def test_on_the_rtl_the_whole_memory_is_the_simulators(seed: int) -> None:
    graph = tall(seed)
    equal(graph, plans_of(CONFIG, graph, one_each(graph)), ALL, rtl=True)


@pytest.mark.parametrize("seed", range(6))
def test_transfers_are_those_that_the_program_makes(seed: int) -> None:
    """In their order, byte for byte; the program cuts them into pieces."""
    graph = tall(seed)
    for plan in plans_of(CONFIG, graph, one_each(graph)):
        assert isinstance(plan, Plan)
        views = _views(graph, plan)
        emitted = emit_plan(CONFIG, plan, views, Parameters(CONFIG, ConstImage(64)))
        real = []
        for pending in emitted:
            saved = pending.unit is Unit.SAVE
            for access in pending.writes if saved else pending.reads:
                if access.space is Space.WORK:
                    real.append((saved, access.start, access.start + access.length))
        moves = [(move.saved, move.access) for move in transfers(plan, views)]
        told = [(saved, access.start, access.start + access.length) for saved, access in moves]
        assert _joined(real) == _joined(told)


def _views(graph: XGraph, plan: Plan) -> Homes:
    """Every map of the group in its own storage, apart from all others."""
    homes, group = storage_of(graph), plan.group
    return Homes({name: homes[name].view for name in group.inputs}, {name: (homes[name].view,) for name in group.outputs})


def _joined(moves: Sequence[tuple[bool, int, int]]) -> list[tuple[bool, int, int]]:
    """Neighbouring moves that go on where the last ended, as one."""
    found: list[tuple[bool, int, int]] = []
    for saved, begin, end in moves:
        if found and found[-1][0] == saved and found[-1][2] == begin:
            found[-1] = saved, found[-1][1], end
        else:
            found.append((saved, begin, end))
    return found


def test_leads_keep_what_is_written_below_what_is_unread() -> None:
    """By plain replay: at the least distance no byte is overwritten before it is read; with a granule less, one is."""
    tight = 0
    for seed in range(8):
        graph = tall(seed)
        for plan in plans_of(CONFIG, graph, one_each(graph)):
            assert isinstance(plan, Plan)
            views = _views(graph, plan)
            moves = list(transfers(plan, views))
            for (source, target), lead in leads_of(graph, plan).items():
                assert _overwritten(moves, source, target, lead) == 0
                tight += lead > 0 and _overwritten(moves, source, target, lead - 64) > 0
    assert tight > 3


def _overwritten(moves: Sequence[Transfer], source: str, target: str, lead: int) -> int:
    """Reads of the source that find a byte of the target."""
    dirty: set[int] = set()
    wrong = 0
    for move in moves:
        begin, end = move.access.start, move.access.start + move.access.length
        if move.saved and move.map == target:
            dirty.update(range(begin - lead, end - lead))
        elif not move.saved and move.map == source:
            wrong += not dirty.isdisjoint(range(begin, end))
    return wrong
