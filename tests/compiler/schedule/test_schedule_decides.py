"""Schedules in part: what they say is done, the rest is searched; what cannot be is refused, with the line and the reason."""

from __future__ import annotations

import random

import numpy as np
import pytest

from compiler.driver import frugal_steps
from compiler.emit.described import schedule_text
from compiler.emit.places import Sharing
from compiler.emit.program import emit_program
from compiler.fusion.legal import OpSets
from compiler.planning.objective import CYCLES, DRAM
from compiler.planning.plan import Plan
from compiler.planning.plan_partition import plans_of
from compiler.programs.decisions import decisions
from compiler.programs.frugal import frugal
from compiler.schedule.document import GroupSchedule, Schedule, ScheduleError
from compiler.schedule.reading import parse_schedule
from compiler.search.decided import Decided, DecidedSets
from compiler.search.partition import price_of
from compiler.search.strategies import STRATEGIES
from compiler.xgraph.graph import XGraph
from compiler.xgraph.ops import EltwiseKind, PoolKind, Reshape
from isa.config import config_from_dict, preset
from tests.compiler.graphs import Builder, run_functional
from tests.compiler.search.partitions import all_groups, all_partitions, random_graph, runs

NANO = preset("nano")
SMALL = config_from_dict({"base": "nano", "name": "small", "fm_depth": 64, "weight_depth": 24}, origin="test")


def some_groups(graph: XGraph, seed: int) -> list[tuple[str, ...]]:
    """One or two groups of a partition that can run."""
    sets = OpSets(graph)
    partitions = [p for p in all_partitions(sets, all_groups(sets, sets.joins)) if sets.in_order(p) is not None]
    rng = random.Random(seed)
    chosen = rng.choice([p for p in partitions if max(map(int.bit_count, p)) > 1] or partitions)
    largest = sorted(chosen, key=int.bit_count)[-rng.randint(1, 2) :]
    return [tuple(op.name for op in sets.members(mask)) for mask in largest]


@pytest.mark.parametrize("name", STRATEGIES)
def test_strategies_search_around_decided_groups(name: str) -> None:
    for seed in range(8):
        graph = random_graph(seed, 6)
        groups = some_groups(graph, seed)
        found = decisions(NANO, graph, Schedule(tuple(map(GroupSchedule, groups))))
        evaluator = Decided(NANO, graph, wanted=found.wanted)
        chosen = evaluator.whole(STRATEGIES[name](graph, evaluator, DRAM).groups)
        assert runs(graph, chosen)
        assert set(groups) <= {tuple(op.name for op in group) for group in chosen}


@pytest.mark.parametrize("seed", range(10))
def test_the_best_around_them_is_that_of_all_partitions_with_them(seed: int) -> None:
    graph = random_graph(seed, 6)
    groups = some_groups(graph, seed)
    found = decisions(NANO, graph, Schedule(tuple(map(GroupSchedule, groups))))
    evaluator = Decided(NANO, graph, wanted=found.wanted)
    sets = OpSets(graph)
    masks = {sets.mask([*ops]) for ops in found.wanted}
    with_them = [
        p for p in all_partitions(sets, all_groups(sets, sets.joins)) if masks <= set(p) and sets.in_order(p) is not None
    ]  # fmt: skip
    least = min(
        sum(price_of(evaluator, DRAM, mask) for mask in p)
        for p in with_them if all(evaluator.cost_of(mask, DRAM) is not None for mask in p)
    )  # fmt: skip
    chosen = evaluator.whole(STRATEGIES["best"](graph, evaluator, DRAM).groups)
    assert sum(price_of(evaluator, DRAM, sets.mask(group)) for group in chosen) == least


def test_members_of_a_decided_group_wait_for_the_same() -> None:
    for seed in range(20):
        sets = OpSets(random_graph(seed))
        mask = max(all_groups(sets, sets.joins), key=int.bit_count)
        contracted = DecidedSets(sets.graph, sets.joined, [mask])
        members = [n for n in range(len(sets.ops)) if mask >> n & 1]
        assert {contracted.ancestors[n] for n in members} == {sets.before(mask)}
        assert {contracted.descendants[n] for n in members} == {sets.after(mask)}


def line_of_five() -> XGraph:
    b = Builder(0)
    x = b.conv(b.conv(b.input(8, 8, 8), 8), 8, (1, 1))
    y = b.pool(b.eltwise(EltwiseKind.ADD, x, x), PoolKind.MAX)
    return b.graph(b.conv(y, 12))


def planned(graph: XGraph, *groups: GroupSchedule, objective: str = "cycles") -> list[Plan]:
    found = frugal_steps(NANO, graph, "best", objective, schedule=Schedule(groups))
    return [step for step in found.steps if isinstance(step, Plan)]


def test_what_is_said_of_a_group_is_done_and_the_rest_chosen() -> None:
    graph = line_of_five()
    for wanted in (
        GroupSchedule(("conv0", "conv1"), steps=3),
        GroupSchedule(("conv0", "conv1"), steps=3, pipelined=False, end="top"),
        GroupSchedule(("conv1",), passes=2),
        GroupSchedule(("conv1",), tiles=2, steps=1),
        GroupSchedule(("conv4",), passes=3, held=("max3_out",)),
    ):
        plan = next(plan for plan in planned(graph, wanted) if plan.group.name == wanted.name)
        assert plan.steps == (wanted.steps or plan.steps)
        assert plan.pipelined == (plan.pipelined if wanted.pipelined is None else wanted.pipelined)
        assert (plan.count // plan.tiles, plan.tiles) == (wanted.passes or 1, wanted.tiles or 1)
        assert tuple(plan.held) == (wanted.held if wanted.held is not None else tuple(plan.held))
        assert plan.upwards == (plan.upwards if wanted.end is None else wanted.end == "bottom")


def test_changed_places_compute_the_same() -> None:
    """Rings moved by hand to other words, longer and wider, and maps in DRAM moved up."""
    graph = line_of_five()
    steps = plans_of(NANO, graph, [graph.ops[:2], graph.ops[2:]])
    text = schedule_text(NANO, graph, steps)
    schedule = parse_schedule(text)
    first = schedule.groups[0]
    assert first.rings is not None
    where = 5
    rings = {}
    for name, ring in first.rings.items():
        rings[name] = type(ring)(where, graph.tensors[name].height, ring.pitch + 3, 2)
        where += 2 * (graph.tensors[name].height * (ring.pitch + 3) + 2) + 1
    places = {name: offset + 128 for name, offset in (schedule.places or {}).items()}
    moved = Schedule((GroupSchedule(first.operations, rings=rings), schedule.groups[1]), True, False, False, places)
    found = decisions(NANO, graph, moved)
    plans = plans_of(NANO, graph, found.groups, wanted=found.wanted, listed=True)
    arranged = frugal(NANO, graph, plans, CYCLES, found.arrangement)
    emitted = emit_program(NANO, graph, arranged.steps, arranged.sharing)
    assert isinstance(plans[0], Plan)
    assert plans[0].words == where - 1
    rng = np.random.default_rng(0)
    inputs = {name: rng.integers(-128, 128, graph.tensors[name].shape).astype(np.int8) for name in graph.inputs}
    before = run_functional(NANO, graph, emit_program(NANO, graph, steps), inputs)
    after = run_functional(NANO, graph, emitted, inputs)
    assert all((before[name] == after[name]).all() for name in graph.outputs)


def branches() -> XGraph:
    """Two lines that cross, a view, and a sum."""
    b = Builder(0)
    x = b.input(6, 6, 8)
    left, right = b.conv(x, 8), b.conv(x, 8, (1, 1))
    low = b.eltwise(EltwiseKind.ADD, b.conv(left, 8), right)
    high = b.eltwise(EltwiseKind.ADD, b.conv(right, 8), left)
    view = b.view(Reshape, "view", (low,), (1, 6, 6, 8))
    return b.graph(high, b.conv(view, 8))


GROUPS = """\
[[group]]
operations = ["conv0", "conv2"]
"""

REFUSED = [
    (GROUPS.replace("conv2", "conv22"), 2, "no operation 'conv22' in the compiled network; did you mean conv2?"),
    (GROUPS.replace("conv2", "conv0"), 2, "operation 'conv0' is also in group"),
    (GROUPS.replace("conv2", "add3"), 2, "group conv0+add3: not convex: conv2 needs some of them, and others need it"),
    (GROUPS.replace('"conv0", "conv2"', '"add3", "conv7"'), 2, "group add3+conv7: some lie behind a view"),
    (GROUPS.replace('"conv0", "conv2"', '"add3", "add5"'), 2, "add3+add5: some neither read nor share a map"),
    (
        '[[group]]\noperations = ["conv0", "add5"]\n[[group]]\noperations = ["conv1", "add3"]\n', 2,
        "group conv0+add5: waits for group conv1+add3, which waits for it; split one of them",
    ),
    (GROUPS + "steps = 7\n", 3, "group conv0+conv2: 7 steps; expected 1 to 6, the rows of its outputs"),
    (GROUPS + "steps = 1\npipelined = true\n", 4, "group conv0+conv2: true, with one step; expected false, or more steps"),
    (GROUPS + "passes = 2\n", 3, "group conv0+conv2: 2 passes; expected 1 to 1"),
    (GROUPS + "tiles = 9\n", 3, "group conv0+conv2: 9 tiles; expected 1 to 6"),
    (GROUPS + "bands = 9\n", 3, "group conv0+conv2: 9 bands; expected 2 to 6, the rows of its outputs"),
    (GROUPS + "bands = 2\nsteps = 2\n", 3, "group conv0+conv2: with bands nothing else can be decided but the end"),
    (GROUPS + 'held = ["x0"]\n', 3, "group conv0+conv2: map 'x0' cannot stay on chip from pass to pass"),
    (GROUPS + "[group.rings]\nx0 = {word = 0, rows = 6, pitch = 6}\n", 3, "map 'conv0_out' has no ring; expected all of"),
    (GROUPS + "[group.rings]\nx9 = {word = 0, rows = 6, pitch = 6}\n", 4, "no ring begins with map 'x9'; expected x0, "),
    (GROUPS + "[group.parameters]\nconv0 = {stay = 1}\n", 3, "'conv2' is missing; expected all of conv0, conv2"),
    (GROUPS + "[group.parameters]\nconv9 = {stay = 1}\n", 4, "no operation 'conv9' with parameters; expected conv0, conv2"),
    (
        GROUPS + "[group.parameters]\nconv0 = {weight = 1}\nconv2 = {}\n", 4,
        "conv0: 1 of weight hold no part of its parameters; allow more words",
    ),
    (GROUPS + "[group.parameters]\nconv0 = {stay = 9}\nconv2 = {}\n", 4, "conv0: 9 blocks stay; expected at most its 1"),
    (GROUPS + "[group.parameters]\nconv0 = [{}, {}]\nconv2 = {}\n", 4, "2 tables; expected one, or one for each of 1"),
    ('order = "listed"\n' + GROUPS, 1, 'order "listed": operation \'conv1\' is in no group'),
    (GROUPS + "[dram.places]\nx0 = 0\n", 3, 'places: who meets whom depends on the order; expected order = "listed", too'),
]  # fmt: skip


@pytest.mark.parametrize(("text", "line", "message"), REFUSED, ids=range(len(REFUSED)))
def test_what_cannot_be_is_refused(text: str, line: int, message: str) -> None:
    graph = branches()
    with pytest.raises(ScheduleError) as error:
        frugal_steps(NANO, graph, "naive", "cycles", schedule=parse_schedule(text, "S.toml"))
    assert str(error.value).startswith(f"S.toml, line {line}: ")
    assert message in str(error.value)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (("rows = 6", "rows = 5"), "expected 6 to 6 in 1 steps"),
        (("pitch = 6", "pitch = 5"), "pitch 5; expected at least 6"),
        (("word = 0,", "word = 3070,"), "configuration nano has"),
        (("word = 0,", "word = 513,"), "while both are in use"),
        (("apart = 0}", "apart = 0, shift = 6}"), "shift 6; expected less than its 6 rows"),
        (("= 0\n", "= 32\n"), "expected a multiple of 64"),
        (("conv2_out = 640", "conv2_out = 64"), "which lives at the same time"),
        (("conv2_out = 640", "conv22 = 640"), "places: no map 'conv22' has storage in DRAM"),
        (("conv2_out = 640\n", ""), "places: map 'conv2_out' is missing; expected all, or no places"),
    ],
)  # fmt: skip
def test_places_that_cannot_be_are_refused(change: tuple[str, str], message: str) -> None:
    graph = branches()
    steps = plans_of(NANO, graph, [[op] for op in graph.ops if op.name != "view"])
    text = schedule_text(NANO, graph, steps, Sharing(overlap=True))
    assert change[0] in text, text
    with pytest.raises(ScheduleError, match=r"line \d+") as error:
        frugal_steps(NANO, graph, "naive", "cycles", schedule=parse_schedule(text.replace(*change, 1), "S.toml"))
    assert message in str(error.value)


def test_a_group_that_does_not_fit_says_so() -> None:
    b = Builder(0)
    graph = b.graph(b.conv(b.conv(b.input(90, 90, 96), 96), 96))
    schedule = parse_schedule('[[group]]\noperations = ["conv0", "conv1"]\n', "S.toml")
    with pytest.raises(ScheduleError, match=r"line 2: group conv0\+conv1: no tiling fits configuration small"):
        frugal_steps(SMALL, graph, "naive", "cycles", schedule=schedule)
