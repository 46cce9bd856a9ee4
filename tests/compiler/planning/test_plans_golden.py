"""What the planner decides of many groups on several machines, and what it takes them to cost, as text.

Nothing here is right or wrong by itself: the tests beside it say that plans compute the reference, move the bytes that they
tell and take nearly the cycles of the cycle model. This one says that a change of the planner leaves its choices as they are,
or which of them it changes.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from compiler.layers.fit import FitError
from compiler.memory.storage import VIEW_OPS
from compiler.planning.group_schemes import Scheme, plan_as, scheme_of, schemes, whole_scheme
from compiler.planning.grouping import make_group, one_each
from compiler.planning.objective import CYCLES, DRAM, LEAN, Objective
from compiler.planning.plan import Plan
from compiler.planning.plan_group import plan_group
from compiler.planning.plan_partition import plan_at, plans_of
from compiler.planning.residence import Residence
from compiler.xgraph.ops import EltwiseKind, PoolKind
from isa.config import MachineConfig, config_from_dict, preset
from tests.compiler.emit import test_group_code as group_code
from tests.compiler.graphs import Builder
from tests.compiler.planning import test_columns as columns
from tests.conftest import Golden

GOLDEN = Path(__file__).parent / "golden"
SMALL = config_from_dict({"base": "nano", "name": "small", "fm_depth": 64, "weight_depth": 24}, origin="test")
CHOICES = (
    (preset("nano"), CYCLES), (preset("base"), CYCLES), (preset("zu2"), DRAM), (SMALL, CYCLES), (SMALL, DRAM), (SMALL, LEAN),
    (columns.TINY, CYCLES), (columns.TINY, DRAM), (group_code.ODD, LEAN), (columns.WIDE, CYCLES),
)  # fmt: skip


def streamed(b: Builder) -> list[str]:
    """Weights of several layers that do not fit together."""
    x = b.conv(b.input(16, 12, 24), 40)
    y = b.eltwise(EltwiseKind.ADD, b.conv(x, 40), b.conv(x, 40, (1, 1)))
    return [b.pool(y, PoolKind.MAX), b.conv(y, 12, (5, 5), (2, 2))]


CASES = {case.__name__: case for case in (*group_code.CASES, *columns.CASES, streamed)}


def told(plan: Plan) -> str:
    ends = f"{'up' if plan.upwards else 'down'} {plan.words} words"
    how = f"{plan.count} of {plan.tiles} x {plan.bands}, {plan.steps} steps{' pipelined' if plan.pipelined else ''}"
    held = f", held {' '.join(plan.held)}" if plan.held else ""
    shared = f", in turn, sliding {' '.join(sorted(plan.way.sliding)) or 'none'}" if plan.way.in_turn else ""
    cost = f"{plan.cost.cycles} cycles, {plan.cost.dram_bytes} bytes, {plan.reloaded} again"
    first = plan.passes[0]
    return f"{how}{held}{shared}, {ends}; {cost}; {blocks(first.residence)}; {rings(plan)}"


def blocks(residence: Residence) -> str:
    return " ".join(f"{residence.stay[name]}/{len(own)}" for name, own in residence.blocks.items())


def rings(plan: Plan) -> str:
    return " ".join(f"{p.base}+{p.ring}*{p.pitch}" + (f"+{p.apart}" if p.apart else "") for p in plan.way.placed.values())


def lines(config: MachineConfig, objective: Objective) -> Iterator[str]:
    """Each graph in one group, and where it fits in no other way in three bands."""
    for name, case in CASES.items():
        b = Builder(len(name))
        graph = b.graph(*case(b))
        ops = tuple(op for op in graph.ops if not isinstance(op, VIEW_OPS))
        for bands in (1, 3):
            try:
                (plan,) = (step for step in plans_of(config, graph, [ops], objective, bands=bands) if isinstance(step, Plan))
            except FitError as error:
                yield f"{name}: {error}"
                break
            if bands == 1 or plan.bands > 1:
                yield f"{name}: {told(plan)}"


@pytest.mark.parametrize(("config", "objective"), CHOICES, ids=lambda value: value.name)
def test_groups(config: MachineConfig, objective: Objective, golden: Golden) -> None:
    golden(GOLDEN / f"{config.name}_{objective.name}.txt", "\n".join(lines(config, objective)) + "\n")


FOR_CYCLES = [config for config, objective in CHOICES if objective is CYCLES]


@pytest.mark.parametrize("config", FOR_CYCLES, ids=lambda config: config.name)
def test_groups_are_planned_again_by_their_schemes(config: MachineConfig) -> None:
    """At both ends, and with the passes that are emitted; but for those of which the scheme does not say everything."""
    again = 0
    for name, case in CASES.items():
        b = Builder(len(name))
        graph = b.graph(*case(b))
        ops = tuple(op for op in graph.ops if not isinstance(op, VIEW_OPS))
        for upwards in (True, False):
            try:
                best = plan_group(config, make_group(config, graph, ops), upwards=upwards)
            except FitError:
                continue
            scheme = whole_scheme(best)
            plan = plan_at(config, graph, ops, upwards, {}, scheme=scheme)
            assert told(plan) == told(best)
            assert [blocks(part.residence) for part in plan.passes] == [blocks(part.residence) for part in best.passes]
            again += scheme is not None
    assert again > 3


def short(scheme: Scheme, plan: Plan) -> str:
    said = [name for name in ("pipelined", "held", "partly", "turned") if getattr(scheme, name)]
    decided = " ".join([f"{scheme.passes} x {scheme.steps}", *said])
    return f"{decided}: {plan.cost.cycles} cycles, {plan.cost.dram_bytes} bytes"


@pytest.mark.parametrize("name", ["nano", "small"])
def test_schemes_of_groups(name: str, golden: Golden) -> None:
    """The other plans of a group, the cheapest alone first: what they decide, and what they cost."""
    config = SMALL if name == "small" else preset(name)
    found = []
    for case in (group_code.residual_batch, group_code.inverted_bottleneck, group_code.grouped_along_lanes, streamed):
        b = Builder(0)
        graph = b.graph(*case(b))
        for ops in (*one_each(graph), tuple(graph.ops[:2])):
            own = plan_group(config, make_group(config, graph, ops))
            found.append(f"{own.group.name}: {short(scheme_of(own), own)}")
            for scheme in schemes(config, own, 9):
                plan = plan_as(config, own.group, scheme, own.upwards)
                assert plan is not None
                found.append(f"    {short(scheme, plan)}")
    golden(GOLDEN / f"schemes_{name}.txt", "\n".join(found) + "\n")
