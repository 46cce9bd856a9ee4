"""What was decided, written, read and compiled again, gives the same program, byte for byte."""

from __future__ import annotations

import random
from typing import Any

import pytest

from compiler.driver import LEAST_MEMORY
from compiler.emit.described import schedule_text
from compiler.emit.places import APART, Sharing
from compiler.emit.program import Emitted, emit_program
from compiler.fusion.legal import OpSets
from compiler.planning.objective import CYCLES, DRAM, Objective
from compiler.planning.plan import Plan
from compiler.planning.plan_partition import plans_of
from compiler.programs.decisions import decisions
from compiler.programs.frugal import frugal
from compiler.schedule.reading import parse_schedule
from compiler.xgraph.graph import XGraph
from compiler.xgraph.ops import Cpu, EltwiseKind
from compiler.zoo.networks import networks
from isa.config import MachineConfig, config_from_dict, preset
from isa.program_file import program_bytes
from tests.compiler.graphs import Builder
from tests.compiler.search.partitions import all_groups, all_partitions, random_graph
from tests.e2e.network_runs import compiled

NANO = preset("nano")
SMALL = config_from_dict({"base": "nano", "name": "small", "fm_depth": 64, "weight_depth": 24}, origin="test")
TINY = config_from_dict({"base": "nano", "name": "tiny", "fm_depth": 32, "weight_depth": 64, "acc_depth": 8}, origin="test")


def again(
    config: MachineConfig, graph: XGraph, steps: list[Plan | Cpu], sharing: Sharing, objective: Objective
) -> tuple[Emitted, Emitted, list[Plan]]:
    """The program, and that of its schedule, planned for another objective: nothing is left to choose."""
    text = schedule_text(config, graph, steps, sharing)
    schedule = parse_schedule(text)
    found = decisions(config, graph, schedule)
    other = CYCLES if objective is DRAM else DRAM
    planned = plans_of(config, graph, found.groups, other, wanted=found.wanted, listed=True)
    arranged = frugal(config, graph, planned, other, found.arrangement)
    assert schedule_text(config, graph, arranged.steps, arranged.sharing) == text
    assert [step.cost for step in planned if isinstance(step, Plan)] == [step.cost for step in steps if isinstance(step, Plan)]
    return (
        emit_program(config, graph, steps, sharing), emit_program(config, graph, arranged.steps, arranged.sharing),
        [step for step in planned if isinstance(step, Plan)],
    )  # fmt: skip


def same(a: Emitted, b: Emitted) -> bool:
    return all(
        getattr(a, field) == getattr(b, field)
        for field in ("words", "const", "work_bytes", "input_bytes", "output_bytes", "views", "debug")
    )


@pytest.mark.parametrize("objective", [CYCLES, DRAM], ids=lambda objective: objective.name)
@pytest.mark.parametrize("seed", range(12))
def test_random_partitions_of_random_graphs(seed: int, objective: Objective) -> None:
    graph = random_graph(seed, 6)
    sets = OpSets(graph)
    rng = random.Random(seed)
    orders = [order for p in all_partitions(sets, all_groups(sets, sets.joins)) if (order := sets.in_order(p)) is not None]
    groups = [sets.members(mask) for mask in rng.choice(orders)]
    steps = plans_of(NANO, graph, groups, objective)
    sharing = Sharing(host=seed % 2 == 0, overlap=seed % 3 == 0)
    before, after, _ = again(NANO, graph, steps, sharing, objective)
    assert same(before, after)


def passes_and_blocks(batch: int) -> XGraph:
    b = Builder(1)
    x = b.conv(b.input(7, 6, 8, batch), 24, (1, 1))
    y = b.eltwise(EltwiseKind.ADD, b.conv(x, 40), b.conv(x, 40, (1, 1)))
    return b.graph(y, b.conv(x, 30, (1, 1), (2, 2)))


@pytest.mark.parametrize("batch", [1, 3])
def test_passes_held_maps_and_blocks_that_stay(batch: int) -> None:
    graph = passes_and_blocks(batch)
    steps = plans_of(SMALL, graph, [[op] for op in graph.ops], DRAM)
    before, after, plans = again(SMALL, graph, steps, APART, DRAM)
    assert same(before, after)
    assert max(plan.count for plan in plans) > 1
    assert any(plan.held for plan in plans)
    kept = {number for plan in plans for each in plan.passes for number in each.residence.stay.values()}
    assert len(kept) > 1


def test_column_tiles() -> None:
    b = Builder(0)
    graph = b.graph(b.conv(b.conv(b.input(5, 90, 8), 7), 6))
    steps = plans_of(TINY, graph, [graph.ops], DRAM)
    before, after, (plan,) = again(TINY, graph, steps, APART, DRAM)
    assert plan.tiles > 1
    assert same(before, after)


CASES: list[tuple[str, str, str, dict[str, Any]]] = [
    ("squeezenet", "nano", "dnnvm", {"size": 32, "classes": 10}),
    ("mobilenet_v2", "zu2", "optimus", {"size": 32, "classes": 10}),
    ("googlenet", "zu9", "naive", {"size": 32, "classes": 10}),
    ("unet_resize", "base", "best", {"size": 32}),
]


@pytest.mark.parametrize(("name", "config", "strategy", "how"), CASES, ids=[case[0] for case in CASES])
def test_networks(name: str, config: str, strategy: str, how: dict[str, Any]) -> None:
    model = networks()[name](**how)
    found = compiled(model, config, strategy=strategy, cache=False)
    repeated = compiled(model, config, strategy="naive", schedule=found.schedule, cache=False)
    assert program_bytes(found.program) == program_bytes(repeated.program)
    assert found.schedule == repeated.schedule


@pytest.mark.parametrize(
    ("objective", "name", "how"),
    [
        ("dram", "mobilenet_v1", {"size": 32, "classes": 10}),
        pytest.param(LEAST_MEMORY, "yolov3_tiny", {"size": 32}, marks=pytest.mark.slow),
    ],
    ids=["dram", LEAST_MEMORY],
)
def test_objectives_with_what_they_share_in_dram(objective: str, name: str, how: dict[str, Any]) -> None:
    model = networks()[name](**how)
    found = compiled(model, "nano", strategy="best", objective=objective)
    repeated = compiled(model, "nano", schedule=found.schedule)
    assert program_bytes(found.program) == program_bytes(repeated.program)
    assert found.sharing.host == (objective == LEAST_MEMORY)


def test_programs_with_parts_on_the_cpu() -> None:
    """Their place in the order is kept."""
    model = networks()["squeezenet"](size=32, classes=10)
    found = compiled(model, "nano", strategy="greedy", keep_float=["fire5/conv1"])
    assert sum(isinstance(step, Cpu) for step in found.steps) > 2
    repeated = compiled(model, "nano", schedule=found.schedule, keep_float=["fire5/conv1"])
    assert program_bytes(found.program) == program_bytes(repeated.program)
