"""Places in DRAM: what lives at a time lies apart, whoever has chosen the places."""

from __future__ import annotations

import random
from dataclasses import replace
from itertools import combinations

import pytest

from compiler.emit.places import ALIGN, APART, Given, Sharing, offsets_of, places
from compiler.emit.steps import peak_ops
from compiler.planning.grouping import one_each
from compiler.planning.plan import Plan
from compiler.planning.plan_partition import plans_of
from compiler.planning.written_over import leads_of
from compiler.schedule.document import Origin, ScheduleError
from compiler.xgraph.graph import XGraph
from compiler.xgraph.ops import Cpu, EltwiseKind
from isa.config import preset
from isa.instructions import Region
from tests.compiler.graphs import Builder

NANO = preset("nano")
LEADS = Sharing(host=True, overlap=True)


def branches() -> XGraph:
    """Two inputs, two outputs, and maps of several sizes, of which one lives for long."""
    b = Builder(0)
    x, other = b.input(12, 6, 8), b.input(12, 6, 12)
    first = b.conv(x, 12)
    wide = b.conv(first, 40)
    small = b.conv(wide, 12, (1, 1))
    y = b.eltwise(EltwiseKind.ADD, small, first)
    z = b.eltwise(EltwiseKind.ADD, y, other)
    return b.graph(b.conv(z, 20, (1, 1)), y)


def planned(graph: XGraph) -> list[Plan]:
    return [plan for plan in plans_of(NANO, graph, one_each(graph)) if isinstance(plan, Plan)]


def granules(graph: XGraph, name: str) -> int:
    return -(-graph.tensors[name].bytes // ALIGN) * ALIGN


def lifetimes(graph: XGraph, steps: list[Plan]) -> dict[str, tuple[int, int]]:
    """By plain account: the first and the last step in which each map is in use."""
    found = {}
    for name in graph.tensors:
        used = [n for n, step in enumerate(steps) if name in (*step.group.inputs, *step.group.outputs)]
        found[name] = (0 if name in graph.inputs else min(used), len(steps) if name in graph.outputs else max(used))
    return found


def regions(graph: XGraph, sharing: Sharing) -> dict[str, Region]:
    own = {**dict.fromkeys(graph.inputs, Region.INPUT), **dict.fromkeys(graph.outputs, Region.OUTPUT)}
    return {name: Region.WORK if sharing.host else own.get(name, Region.WORK) for name in graph.tensors}


def clash(graph: XGraph, steps: list[Plan], sharing: Sharing, offsets: dict[str, int]) -> bool:
    """Whether two maps of a region that are in use at a time share bytes that they may not."""
    lives, where = lifetimes(graph, steps), regions(graph, sharing)
    allowed: dict[tuple[str, str], int] = {}
    for n, step in enumerate(steps):
        for (source, target), lead in leads_of(graph, step).items() if sharing.overlap else ():
            if lives[source][1] == n and lives[target][0] == n and where[source] is where[target] is Region.WORK:
                allowed[source, target] = lead
    for a, b in combinations(graph.tensors, 2):
        together = where[a] is not Region.WORK or (lives[a][0] <= lives[b][1] and lives[b][0] <= lives[a][1])
        apart = offsets[a] + granules(graph, a) <= offsets[b] or offsets[b] + granules(graph, b) <= offsets[a]
        slides = any(pair in allowed and offsets[pair[1]] + allowed[pair] <= offsets[pair[0]] for pair in ((a, b), (b, a)))
        if where[a] is where[b] and together and not apart and not slides:
            return True
    return False


@pytest.mark.parametrize(
    "sharing", [APART, Sharing(host=True), Sharing(overlap=True), LEADS], ids=["apart", "host", "overlap", "all"]
)
def test_given_places_are_taken_unless_what_lives_at_a_time_meets(sharing: Sharing) -> None:
    graph = branches()
    steps = planned(graph)
    found = offsets_of(graph, steps, sharing)
    assert not clash(graph, steps, sharing, found)
    assert found.keys() == graph.tensors.keys()
    rng = random.Random(0)
    taken = refused = 0
    for _ in range(400):
        moved = dict(found)
        for name in rng.sample([*found], rng.randint(1, 2)):
            moved[name] = max(0, rng.choice([rng.randrange(40) * ALIGN, moved[name] + rng.choice([-1, 1]) * ALIGN]))
        given = replace(sharing, given=Given(tuple(moved.items())))
        if clash(graph, steps, sharing, moved):
            refused += 1
            with pytest.raises(ScheduleError, match="which lives at the same time"):
                places(graph, steps, given)
        else:
            taken += 1
            views, sizes = places(graph, steps, given)
            where = regions(graph, sharing)
            assert {name: view.offset for name, view in views.items()} == moved
            assert {name: view.region for name, view in views.items()} == where
            for region in (Region.WORK, Region.INPUT, Region.OUTPUT):
                ends = [moved[name] + granules(graph, name) for name in moved if where[name] is region]
                assert sizes[region] == max(ends, default=0)
    assert min(taken, refused) > 20


def test_given_places_are_whole_granules_of_all_maps_and_of_no_others() -> None:
    graph = branches()
    steps = planned(graph)
    found = offsets_of(graph, steps, APART)
    name = next(iter(found))

    def given(offsets: dict[str, int]) -> Sharing:
        return Sharing(given=Given(tuple(offsets.items()), Origin("mine", {"places": 7, f"places.{name}": 9})))

    for other, problem in (
        ({**found, name: found[name] + 1}, rf"mine, line 9: places: {name} at \d+; expected a multiple of 64"),
        ({k: v for k, v in found.items() if k != name}, rf"mine, line 7: places: map '{name}' is missing"),
        ({**found, "none": 0}, "mine, line 7: places: no map 'none' has storage"),
    ):
        with pytest.raises(ScheduleError, match=problem):
            places(graph, steps, given(other))
    assert places(graph, steps, given(found)) == places(graph, steps)


def test_what_the_first_step_reads_and_the_last_makes_shares_nothing_in_one_step() -> None:
    b = Builder(0)
    graph = b.graph(b.conv(b.input(6, 6, 8), 8))
    steps = planned(graph)
    views, sizes = places(graph, steps, Sharing(host=True))
    assert {views["x0"].offset, views["conv0_out"].offset} == {0, granules(graph, "x0")}
    assert sizes == {Region.WORK: 2 * granules(graph, "x0"), Region.INPUT: 0, Region.OUTPUT: 0}


def test_inputs_lie_apart_though_no_step_reads_one_of_them() -> None:
    b = Builder(0)
    x, y = b.input(6, 6, 8), b.input(6, 6, 8)
    graph = b.graph(y, b.conv(x, 8))
    for sharing, region in ((APART, Region.INPUT), (Sharing(host=True), Region.WORK)):
        views, sizes = places(graph, planned(graph), sharing)
        assert abs(views[x].offset - views[y].offset) >= granules(graph, x)
        assert sizes[region] >= 2 * granules(graph, x)


@pytest.mark.parametrize("sharing", [APART, LEADS], ids=["apart", "all"])
def test_only_what_the_host_sees_is_toggled_on_its_way(sharing: Sharing) -> None:
    """Maps of uint8 between two groups stay as they are on chip."""
    graph = branches()
    toggled = replace(graph, tensors={name: replace(tensor, flip=name != "x0") for name, tensor in graph.tensors.items()})
    views, _ = places(toggled, planned(toggled), sharing)
    assert {name for name, view in views.items() if view.flip} == {"x1", *graph.outputs}


def test_a_part_on_the_cpu_that_the_machine_needs_nothing_of_takes_an_output() -> None:
    """It runs when the machine is done: what it reads is not overwritten by then, and lies where the host looks."""
    b = Builder(1)
    y = b.conv(b.conv(b.input(6, 6, 8), 8), 8)
    b.ops.append(Cpu("last", (y,), (), b"", {}))
    graph = b.graph()
    views, sizes = places(graph, plans_of(NANO, graph, one_each(graph)))
    assert {name: view.region for name, view in views.items()} == {
        "x0": Region.INPUT, "conv0_out": Region.WORK, y: Region.OUTPUT,
    }  # fmt: skip
    assert sizes == dict.fromkeys((Region.WORK, Region.INPUT, Region.OUTPUT), granules(graph, y))


@pytest.mark.parametrize("shared", [False, True])
def test_the_peak_is_where_most_of_work_is_in_use(shared: bool) -> None:
    graph = branches()
    steps = planned(graph)
    lives, where = lifetimes(graph, steps), regions(graph, Sharing(host=shared))
    in_use = [
        sum(granules(graph, name) for name, (a, z) in lives.items() if where[name] is Region.WORK and a <= n <= z)
        for n in range(len(steps))
    ]
    (step,) = (step for step, size in zip(steps, in_use, strict=True) if size == max(in_use))
    assert [op.name for op in peak_ops(graph, steps, shared)] == [layer.op.name for layer in step.group.layers]
    if not shared:
        assert peak_ops(graph, steps) == peak_ops(graph, steps, False)
