"""What a schedule may decide of a group: what lies just within is done, what lies just beyond is refused and says why."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

import compiler.planning
from compiler.emit.program import emit_program
from compiler.instructions.latency import AFTER_LOAD
from compiler.layers.window import MOST_SIDE
from compiler.planning.group_schemes import Scheme, plan_as, scheme_of, schemes
from compiler.planning.grouping import make_group
from compiler.planning.objective import CYCLES, DRAM, ENERGY, Cost, Objective
from compiler.planning.operations import Group
from compiler.planning.plan import Plan
from compiler.planning.plan_group import plan_group
from compiler.planning.plan_partition import plans_of
from compiler.planning.ranges import deduce
from compiler.planning.residence import residences
from compiler.planning.walk import cycles_at_least
from compiler.planning.within_fields import within_fields
from compiler.schedule.document import GroupSchedule, Origin, ScheduleError, Stay
from compiler.xgraph.graph import XGraph
from compiler.xgraph.ops import EltwiseKind, PoolKind
from isa.config import MachineConfig, config_from_dict, preset
from isa.instructions import Buffer
from tests.compiler.graphs import Builder, check, check_emitted
from tests.values import changeable

NANO = preset("nano")
SMALL = config_from_dict({"base": "nano", "name": "small", "fm_depth": 64, "weight_depth": 24}, origin="test")
TINY = config_from_dict({"base": "nano", "name": "tiny", "fm_depth": 32, "weight_depth": 64, "acc_depth": 8}, origin="test")


def two() -> XGraph:
    """Nine rows and eight columns; the second has four chunks of nine words."""
    b = Builder(0)
    return b.graph(b.conv(b.conv(b.input(9, 8, 4), 4), 16))


def asked(config: MachineConfig = NANO, whole: bool = True, **decided: Any) -> Plan:
    """Of both convolutions, or of the second alone."""
    graph = two()
    ops = graph.ops if whole else graph.ops[1:]
    named = GroupSchedule(tuple(op.name for op in ops), origin=Origin("mine"), **decided)
    return plan_group(config, make_group(config, graph, ops), wanted=named)


@pytest.mark.parametrize(
    "decided",
    [
        {"steps": 9}, {"steps": 1}, {"steps": 1, "pipelined": False}, {"steps": 2, "pipelined": True}, {"passes": 1},
        {"tiles": 8}, {"end": "top"}, {"bands": 2}, {"bands": 9}, {"bands": 3, "end": "top"}, {"held": ()},
        {"passes": 1, "held": ()}, {"passes": 1, "tiles": 2, "held": ()},
    ],
)  # fmt: skip
def test_what_can_be_is_done(decided: dict[str, Any]) -> None:
    plan = asked(**decided)
    assert plan.steps == decided.get("steps", plan.steps)
    assert plan.pipelined == decided.get("pipelined", plan.pipelined)
    assert plan.tiles == decided.get("tiles", plan.tiles)
    assert plan.upwards == (decided.get("end") != "top")
    assert plan.bands == decided.get("bands", 1)
    assert plan.wanted == GroupSchedule(("conv0", "conv1"), **decided)


@pytest.mark.parametrize("width", [2, 3, 8])
def test_tiles_of_single_columns_compute_the_same(width: int) -> None:
    """Windows, sums of two maps, and one of a map and a pixel for all."""
    b = Builder(width)
    x = b.input(5, width, 4)
    y = b.eltwise(EltwiseKind.ADD, b.conv(x, 4), x)
    graph = b.graph(b.eltwise(EltwiseKind.MUL, y, b.input(1, 1, 4)))
    wanted = GroupSchedule(tuple(op.name for op in graph.ops), tiles=width)
    (plan,) = plans_of(NANO, graph, [graph.ops], wanted={frozenset(graph.ops): wanted})
    assert isinstance(plan, Plan)
    assert plan.tiles == width
    check_emitted(NANO, graph, emit_program(NANO, graph, [plan]))


@pytest.mark.parametrize(("passes", "held"), [(2, ("conv0_out",)), (4, ("conv0_out",)), (4, ()), (3, None)])
def test_passes_may_hold_what_each_of_them_reads_in_whole(passes: int, held: tuple[str, ...] | None) -> None:
    plan = asked(whole=False, passes=passes, held=held)
    assert plan.count == passes
    assert held is None or tuple(plan.held) == held


@pytest.mark.parametrize(
    ("decided", "problem"),
    [
        ({"steps": 10}, "10 steps; expected 1 to 9, the rows of its outputs"),
        ({"steps": 1, "pipelined": True}, "true, with one step; expected false, or more steps"),
        ({"tiles": 9}, "9 tiles; expected 1 to 8, the columns of its widest output"),
        ({"bands": 10}, "10 bands; expected 2 to 9, the rows of its outputs"),
        ({"bands": 1}, "1 bands; expected 2 to 9"),
        ({"bands": 2, "steps": 3}, "with bands nothing else can be decided but the end"),
    ],
)
def test_what_cannot_be_is_refused(decided: dict[str, Any], problem: str) -> None:
    with pytest.raises(ScheduleError, match=rf"mine: group conv0\+conv1: {problem}"):
        asked(**decided)


@pytest.mark.parametrize(
    ("decided", "problem"),
    [
        ({"passes": 5}, "5 passes; expected 1 to 4: parts of whole words of each map"),
        ({"passes": 2, "held": ("conv1_out",)}, "map 'conv1_out' cannot stay on chip .*; maps that can: conv0_out"),
        ({"passes": 1, "held": ("conv0_out",)}, "maps stay from pass to pass; with one pass, or with tiles"),
        ({"passes": 2, "tiles": 2, "held": ("conv0_out",)}, "maps stay from pass to pass; with one pass, or with tiles"),
        ({"parameters": {"conv1": (Stay(),), "other": (Stay(),)}}, "no operation 'other' with parameters; expected conv1"),
        ({"parameters": {}}, "'conv1' is missing; expected all of conv1, or no parameters"),
        ({"passes": 3, "parameters": {"conv1": (Stay(), Stay())}}, "conv1: 2 tables; expected one, or one for each of 3"),
        ({"parameters": {"conv1": (Stay(0, {"param": 0}),)}}, "conv1: 0 of param hold no part of its parameters"),
        ({"parameters": {"conv1": (Stay(5, {"weight": 9}),)}}, "conv1: 5 blocks stay; expected at most its 4"),
    ],
)
def test_what_cannot_be_of_one_layer_is_refused(decided: dict[str, Any], problem: str) -> None:
    with pytest.raises(ScheduleError, match=f"mine: group conv1: {problem}"):
        asked(whole=False, **decided)


def test_what_stays_leaves_room_for_the_largest_other_block() -> None:
    """36 weight words in blocks of nine: of 24, two stay beside none, one beside one."""
    stays = {stay: (Stay(stay, {"weight": 9}),) for stay in range(5)}
    ways: dict[int, dict[str, Any]] = {stay: {"passes": 1, "parameters": {"conv1": each}} for stay, each in stays.items()}
    for stay in (0, 1):
        plan = asked(SMALL, whole=False, **ways[stay])
        residence = plan.passes[0].residence
        assert (residence.stay["conv1_out"], len(residence.blocks["conv1_out"])) == (stay, 4)
        assert residence.budgets["conv1_out"][Buffer.WEIGHT] == 9
        assert residence.budgets["conv1_out"][Buffer.PARAM] == SMALL.param_depth
        block = 9 * 16 + 4 * 8
        assert (residence.stay_bytes["conv1_out"], residence.streamed_bytes["conv1_out"]) == (stay * block, (4 - stay) * block)
    for stay in (2, 3, 4):
        words = f"what stays takes {9 * stay} words of weight, and the largest of the other blocks {9 if stay < 4 else 0}"
        with pytest.raises(ScheduleError, match=f"{words}; configuration small has 24"):
            asked(SMALL, whole=False, **ways[stay])
    exact = replace(SMALL, name="exact", weight_depth=27)
    assert asked(exact, whole=False, **ways[2]).passes[0].residence.stay["conv1_out"] == 2


def test_each_pass_has_its_own_table_or_all_have_one() -> None:
    own = (Stay(0, {"weight": 9}), Stay(1), Stay(0, {"weight": 18}), Stay(1))
    plan = asked(whole=False, passes=4, parameters={"conv1": own})
    assert [part.residence.stay["conv1_out"] for part in plan.passes] == [0, 1, 0, 1]
    plan = asked(whole=False, passes=4, parameters={"conv1": (Stay(1),)})
    assert [part.residence.stay["conv1_out"] for part in plan.passes] == [1, 1, 1, 1]


def group(height: int, width: int, kernel: int = 3, stride: int = 1) -> Group:
    b = Builder(0)
    graph = b.graph(b.conv(b.input(height, width, 1), 1, (kernel, kernel), (stride, stride)))
    return make_group(preset("base"), graph, graph.ops)


@pytest.mark.parametrize(
    ("made", "steps", "fits"),
    [
        (group(MOST_SIDE, 4), 1, True),
        (group(4, MOST_SIDE), 1, True),
        (group(4, MOST_SIDE + 1), 4, False),
        (group(MOST_SIDE + 1, MOST_SIDE + 1), 4, False),
        (group(MOST_SIDE + 1, MOST_SIDE), 2, True),
        (group(MOST_SIDE + 1, 4), 1, False),
        (group(2 * MOST_SIDE - 2, 4), 2, False),  # 4094 rows, and one above and below
        (group(2 * MOST_SIDE - 4, 4), 2, True),
        (group(2 * MOST_SIDE - 6, 4, 5), 2, False),
        (group(2 * MOST_SIDE - 8, 4, 5), 2, True),
        (group(3 * MOST_SIDE, 4, 1), 3, True),
        (group(3 * MOST_SIDE + 1, 4, 1), 3, False),
        (group(8190, 4, 3, 2), 2, False),
        (group(8188, 4, 3, 2), 2, True),
    ],
)
def test_steps_have_as_many_rows_as_the_fields_hold(made: Group, steps: int, fits: bool) -> None:
    """Of what is read in the middle of the map, too, though at its ends there is less."""
    assert within_fields(made, deduce(made, steps)) == fits


def test_costs_add_up_and_objectives_weigh_them() -> None:
    one, other = Cost(10, 300), Cost(1, 20)
    assert one + other == Cost(11, 320)
    assert one.times(3) == Cost(30, 900)
    assert [objective(one) for objective in (CYCLES, DRAM, ENERGY)] == [10, 300, 10 + 4 * 300]
    assert min([Cost(5, 9), Cost(4, 9), Cost(4, 8)], key=DRAM.rank) == Cost(4, 8)
    assert min([Cost(5, 7), Cost(4, 9), Cost(4, 8)], key=CYCLES.rank) == Cost(4, 8)
    for objective in (CYCLES, DRAM, ENERGY, Objective("both", 3, 2)):
        for bound in (Cost(10, 300), Cost(7, 7)):
            for found in (Cost(cycles, size) for cycles in range(14) for size in (6, 7, 8, 299, 300, 301)):
                if found.cycles > objective.cycles_within(objective.rank(bound), found.dram_bytes):
                    assert objective.rank(found) > objective.rank(bound)
                elif objective(found) > objective(bound):
                    assert objective.cycle == 0


def test_no_walk_is_shorter_than_its_units_first_parameters_and_beats() -> None:
    """Cycles that DRAM and a unit take to answer, with a block's parameters before them, if there are any."""
    b = Builder(0)
    x = b.input(9, 8, 4)
    graph = b.graph(b.conv(x, 16), b.pool(x, PoolKind.MAX, 3, 1, 1))
    made = dict.fromkeys(graph.tensors, 9)
    for ops, size in ((graph.ops[:1], 4 * 9 * 16 + 4 * 32), (graph.ops[1:], 0)):
        part = make_group(NANO, graph, ops)
        (residence,) = residences(NANO, part, 1)
        (layer,) = part.layers
        first = size / len(residence.blocks[layer.output]) / NANO.axi_bytes + AFTER_LOAD if size else 0
        assert cycles_at_least(NANO, part, residence, made) == first + layer.beats + AFTER_LOAD


def test_schemes_are_other_plans_of_the_group_that_fit() -> None:
    b = Builder(3)
    x = b.conv(b.input(10, 8, 8), 16)
    graph = b.graph(b.conv(x, 32, (1, 1)))
    for ops in (graph.ops, graph.ops[:1], graph.ops[1:]):
        own = plan_group(SMALL, make_group(SMALL, graph, ops))
        found = schemes(SMALL, own, 99)
        assert len(found) > 2
        assert len({scheme.kind for scheme in found} | {scheme_of(own).kind}) == len(found) + 1
        for count in range(4):
            assert schemes(SMALL, own, count) == found[:count]
        for scheme in found:
            plan = plan_as(SMALL, own.group, scheme, own.upwards)
            assert plan is not None
            assert (plan.steps, plan.pipelined, plan.count, bool(plan.held)) == (
                scheme.steps, scheme.pipelined, scheme.passes, scheme.held,
            )  # fmt: skip
            assert plan.upwards == (own.upwards is not scheme.turned)
            assert plan.cost.cycles <= 1.3 * own.cost.cycles


def test_what_a_schedule_decides_or_what_fits_in_tiles_alone_has_no_schemes() -> None:
    assert schemes(NANO, asked(steps=3), 9) == []
    assert schemes(NANO, asked(bands=2), 9) == []
    b = Builder(0)
    graph = b.graph(b.conv(b.conv(b.input(5, 90, 8), 7), 6))
    tiled = plan_group(TINY, make_group(TINY, graph, graph.ops))
    assert tiled.tiles > 1
    assert schemes(TINY, tiled, 9) == []
    check(TINY, graph, [graph.ops])


def test_schemes_that_fit_nowhere_are_none() -> None:
    graph = two()
    made = make_group(TINY, graph, graph.ops)
    assert plan_as(TINY, made, Scheme(1, False, 1, False, False, False), True) is None
    assert plan_as(TINY, made, Scheme(9, False, 99, False, False, False), True) is None
    assert plan_as(TINY, made, Scheme(99, False, 1, False, False, False), True) is None


@pytest.mark.parametrize(
    ("one", "other", "alike"),
    [
        ({}, {}, "kind"), ({}, {"steps": 3}, "kind"), ({}, {"steps": 4}, "sort"), ({}, {"steps": 1}, ""),
        ({}, {"pipelined": True}, ""), ({}, {"passes": 2}, ""), ({}, {"turned": True}, ""), ({}, {"partly": True}, "sort"),
        ({"passes": 2}, {"passes": 3}, "sort"), ({"passes": 2}, {"passes": 2, "held": True}, "sort"),
        ({"passes": 2}, {"passes": 2, "pipelined": True}, "sort"), ({"passes": 2}, {"passes": 2, "turned": True}, ""),
    ],
)  # fmt: skip
def test_sorts_and_kinds(one: dict[str, Any], other: dict[str, Any], alike: str) -> None:
    """Of one kind are those whose steps differ by less than twice; of one sort all in passes, and all in several steps."""
    base = Scheme(2, False, 1, False, False, False)
    first, second = replace(base, **one), replace(base, **other)
    assert (first.sort == second.sort) == (alike != "")
    assert (first.kind == second.kind) == (alike == "kind")


def test_plans_are_values() -> None:
    """What is changed while a row of groups is walked are the walk's own tasks and units."""
    assert changeable(compiler.planning) == {"Task", "Engine"}
