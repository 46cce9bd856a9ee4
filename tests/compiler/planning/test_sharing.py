"""Programs whose maps share words on chip: free of races, equal to the reference, on the RTL, too."""

from __future__ import annotations

import random
from itertools import islice, pairwise

import numpy as np
import pytest

from compiler.driver import frugal_steps
from compiler.emit.described import schedule_text
from compiler.emit.program import emit_program
from compiler.fusion.legal import OpSets
from compiler.layers.fit import FitError
from compiler.layers.placed import meet
from compiler.planning import candidates
from compiler.planning.grouping import make_group
from compiler.planning.objective import CYCLES, DRAM
from compiler.planning.plan import Plan
from compiler.planning.plan_group import plan_group
from compiler.planning.plan_partition import plans_of
from compiler.planning.walk import walk
from compiler.programs.timing import program_cycles
from compiler.schedule.document import FREE, GroupSchedule, ScheduleError
from compiler.schedule.reading import parse_schedule
from compiler.xgraph.graph import XGraph
from compiler.xgraph.ops import EltwiseKind, PoolKind
from compiler.xgraph.reference import execute
from isa.config import MachineConfig, config_from_dict, preset
from tests.compiler.graphs import Builder, check, run_functional
from tests.compiler.search.partitions import all_groups, all_partitions, random_graph

NANO = preset("nano")
SIZES = range(48, 1000, 48)


def small(words: int) -> MachineConfig:
    """A multiple of 48."""
    values = {"base": "nano", "name": "small", "fm_banks": words // 16, "fm_depth": 16, "weight_depth": 512}
    return config_from_dict(values, origin="test")


def chain(b: Builder, rows: int = 16) -> XGraph:
    """Point-wise, depthwise, point-wise: wide maps between narrow ones."""
    x = b.conv(b.input(rows, 8, 8), 48, (1, 1))
    return b.graph(b.conv(b.conv(x, 48, groups=48), 8, (1, 1)))


def whole(config: MachineConfig, graph: XGraph, steps: int | None = None) -> Plan:
    group = make_group(config, graph, graph.ops)
    wanted = FREE if steps is None else GroupSchedule((), steps)
    return plan_group(config, group, DRAM, wanted=wanted)


def run(config: MachineConfig, graph: XGraph, plan: Plan, seed: int = 0, rtl: bool = False) -> None:
    """Free of races, and equal to the reference."""
    rng = np.random.default_rng(seed)
    inputs = {name: rng.integers(-128, 128, graph.tensors[name].shape).astype(np.int8) for name in graph.inputs}
    expected = execute(graph, inputs)
    for name, value in run_functional(config, graph, emit_program(config, graph, [plan]), inputs, rtl).items():
        assert np.array_equal(value, expected[name]), name


def test_maps_that_do_not_live_at_the_same_time_share_words() -> None:
    """Figure 4: three maps of 60 words and one of 45; all at once take more than the 192 there are, neighbours fewer."""
    b = Builder(0)
    x = b.input(3, 5, 16)
    for channels in (16, 16, 12):
        x = b.conv(x, channels)
    graph = b.graph(x)
    plan = whole(small(192), graph, steps=1)
    placed = [plan.way.placed[name] for name in plan.group.maps]
    assert [each.words for each in placed] == [60, 60, 60, 45]
    assert plan.way.words <= small(192).fm_words
    assert not any(meet(*pair) for pair in pairwise(placed))
    assert not plan.way.sliding
    run(small(192), graph, plan)


def test_an_output_slides_over_its_own_input() -> None:
    """Figure 5: neither map fits beside the other, but what is no longer read makes room piece by piece."""
    b = Builder(0)
    graph = b.graph(b.conv(b.input(16, 4, 8), 8, (3, 3)))
    plan = whole(small(192), graph, steps=1)
    assert plan.way.sliding == {"conv0_out"}
    # 16 rows, 4 more for a piece, and the one above the window's middle.
    assert plan.way.words == 2 * 4 * (16 + 4 + 1) <= small(192).fm_words < 2 * 2 * 4 * 16
    run(small(192), graph, plan)


def test_where_all_fit_apart_nothing_is_shared() -> None:
    graph = chain(Builder(0))
    assert not whole(NANO, graph).way.in_turn


@pytest.fixture
def always_shared(monkeypatch: pytest.MonkeyPatch) -> None:
    """Also where maps would fit apart."""
    monkeypatch.setattr(candidates, "place", lambda *_: None)


def tall(seed: int) -> XGraph:
    """Maps of many rows; strides, sums, pools, what is read twice, two images."""
    b = Builder(seed)
    rng = random.Random(seed)
    maps = [b.input(18, 6, 8, n=1 + seed % 2)]
    for _ in range(4):
        x = maps[-1]
        channels = b.tensors[x].channels
        kind = rng.choice(["conv", "conv", "depth", "pool", "sum", "point", "stride"])
        if kind == "pool":
            maps.append(b.pool(x, PoolKind.MAX, 3, 1, 1))
        elif kind == "sum":
            maps.append(b.eltwise(EltwiseKind.ADD, b.conv(x, channels), x))
        elif kind == "depth":
            maps.append(b.conv(x, channels, groups=channels))
        else:
            kernel = (1, 1) if kind == "point" else (3, 3)
            stride = (2, 2) if kind == "stride" and b.tensors[x].height > 9 else (1, 1)
            maps.append(b.conv(x, rng.choice([8, 8, 12, 20]), kernel, stride))
    return b.graph(maps[-1], *(maps[2:3] if seed % 3 == 0 else ()))


def shared(config: MachineConfig, graph: XGraph) -> Plan | None:
    """All operations in one group, if it fits."""
    try:
        return whole(config, graph)
    except FitError:
        return None


@pytest.mark.parametrize("first", [0, *(pytest.param(first, marks=pytest.mark.slow) for first in (10, 20))])
def test_tall_maps_share(first: int) -> None:
    found = 0
    for seed in range(first, first + 10):
        graph = tall(seed)
        for words in (96, 144, 240):
            plan = shared(small(words), graph)
            if plan is not None and plan.way.in_turn:
                run(small(words), graph, plan, seed)
                found += 1
    assert found > 5


@pytest.mark.parametrize("kind", ["conv", "point", "dilated", "depthwise", "pool", "more", "fewer"])
def test_every_window_slides(kind: str) -> None:
    """In the smallest buffer that holds all rows at once."""
    b = Builder(0)
    x = b.input(17, 5, 8, n=2)
    match kind:
        case "pool":
            b.pool(x, PoolKind.MAX, 3, 1, 1)
        case "depthwise":
            b.conv(x, 8, groups=8)
        case _:
            channels = {"more": 12, "fewer": 4}.get(kind, 8)
            kernel = (1, 1) if kind == "point" else (3, 3)
            b.conv(x, channels, kernel, (1, 1), None, (2, 2) if kind == "dilated" else (1, 1))
    graph = b.graph(b.ops[-1].output)
    for words in SIZES:
        try:
            plan = whole(small(words), graph, steps=1)
        except ScheduleError:
            continue
        if plan.count == 1:
            break
    assert plan.way.sliding
    run(small(words), graph, plan)


@pytest.mark.usefixtures("always_shared")
def test_random_graphs_in_random_partitions() -> None:
    for seed in range(25):
        graph = random_graph(seed, 6)
        sets = OpSets(graph)
        partitions = (p for p in all_partitions(sets, all_groups(sets, sets.feeds)) if sets.in_order(p) is not None)
        partition = random.Random(seed).choice(list(islice(partitions, 20)))
        check(NANO, graph, [sets.members(mask) for mask in partition], seed, (CYCLES, DRAM)[seed % 2])


@pytest.mark.usefixtures("always_shared")
@pytest.mark.parametrize("seed", [1, 2])
def test_on_the_rtl_the_whole_memory_is_the_simulators(seed: int) -> None:
    graph = tall(seed)
    plan = whole(NANO, graph)
    assert plan.way.in_turn
    run(NANO, graph, plan, seed, rtl=True)


def test_on_the_rtl_an_output_slides_over_its_input() -> None:
    b = Builder(0)
    graph = b.graph(b.conv(b.input(40, 12, 16), 16))
    plan = whole(NANO, graph, steps=1)
    assert plan.way.sliding
    run(NANO, graph, plan, rtl=True)


@pytest.mark.parametrize("seed", range(4))
def test_shared_words_are_told_in_the_schedule_and_come_again(seed: int) -> None:
    graph = tall(seed)
    config = next(c for c in map(small, SIZES) if shared(c, graph) is not None)
    steps = plans_of(config, graph, [graph.ops], DRAM)
    text = schedule_text(config, graph, steps)
    arranged = frugal_steps(config, graph, "naive", "dram", schedule=parse_schedule(text, "S.toml"))
    before, after = emit_program(config, graph, steps), emit_program(config, graph, arranged.steps, arranged.sharing)
    assert before.words == after.words


@pytest.mark.usefixtures("always_shared")
@pytest.mark.parametrize("rows", [12, 16, 24])
def test_the_walk_knows_of_the_waiting(rows: int) -> None:
    """A plan that shares words takes what it was told, or up to a quarter less.

    A ring's end cuts rows of a step in two, so that its layers overlap, which the walk leaves out.
    """
    graph = chain(Builder(0), rows)
    plan = whole(NANO, graph)
    (only,) = plan.passes
    assert plan.way.in_turn
    taken = walk(NANO, only.group, plan.way, only.residence, only.loads)
    assert taken is not None
    assert 0.78 * taken.cycles < program_cycles(NANO, graph, [plan]) < 1.02 * taken.cycles
