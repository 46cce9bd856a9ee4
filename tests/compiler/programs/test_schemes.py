"""Schemes of groups: found for one, learnt of neighbours, chosen for a program; and all of them compute the same."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import replace
from itertools import product

import pytest

from compiler.driver import frugal_steps
from compiler.emit.described import schedule_text
from compiler.emit.program import emit_program
from compiler.papers.neocpu.search import problem_of
from compiler.papers.neocpu.solving import solved
from compiler.planning.group_schemes import plan_as, scheme_of, schemes
from compiler.planning.grouping import one_each
from compiler.planning.objective import CYCLES
from compiler.planning.plan import Plan
from compiler.planning.plan_group import plan_group, turned
from compiler.planning.plan_partition import plans_of
from compiler.programs.decisions import decisions
from compiler.programs.frugal import frugal
from compiler.programs.pair_costs import Choices, PairCosts, Timed, cheapest_chain
from compiler.programs.program_schemes import chosen, others_of, that_wait, with_schemes
from compiler.programs.timing import program_cycles, spent_by
from compiler.schedule.document import GroupSchedule
from compiler.schedule.reading import parse_schedule
from compiler.search.cost import Evaluator
from compiler.search.effort import EFFORTS
from compiler.tuned import DEAREST_SCHEME as DEAREST
from compiler.xgraph.graph import XGraph
from compiler.xgraph.ops import Cpu, PoolKind
from isa.config import config_from_dict
from sim.cycle.timing import END_TAIL
from tests.compiler.graphs import Builder, check_emitted
from tests.compiler.search.partitions import random_graph

SMALL = config_from_dict({"base": "nano", "name": "small", "fm_depth": 64, "weight_depth": 24}, origin="test")


def deep() -> XGraph:
    """Parameters that a small machine must load again in every step."""
    b = Builder(3)
    x = b.conv(b.input(10, 8, 8), 16)
    x = b.pool(b.conv(x, 16), PoolKind.MAX)
    return b.graph(b.conv(x, 32, (1, 1)))


def plans(steps: Sequence[Plan | Cpu]) -> list[Plan]:
    return [step for step in steps if isinstance(step, Plan)]


def alone(graph: XGraph) -> list[Plan]:
    return plans(plans_of(SMALL, graph, one_each(graph)))


def test_schemes_differ_and_are_not_too_dear() -> None:
    seen = set()
    for own in alone(deep()):
        found = schemes(SMALL, own, 6)
        assert 1 <= len(found) <= 6
        assert len({scheme.kind for scheme in (scheme_of(own), *found)}) == len(found) + 1
        assert scheme_of(own, turned=True) in found
        for scheme in found:
            plan = plan_as(SMALL, own.group, scheme, own.upwards)
            assert plan is not None
            assert plan.cost.cycles <= DEAREST * own.cost.cycles
            assert (plan.steps, plan.pipelined, plan.count) == (scheme.steps, scheme.pipelined, scheme.passes)
            assert (bool(plan.held), plan.upwards) == (scheme.held, own.upwards is not scheme.turned)
            seen |= {name for name in ("pipelined", "held", "partly", "turned") if getattr(scheme, name)}
            seen |= {"passes"} if scheme.passes > 1 else set()
    assert seen == {"pipelined", "held", "partly", "turned", "passes"}, "the graph has schemes of every sort"


def test_a_scheme_is_what_it_is_at_the_other_end_too() -> None:
    """Parameters that stay in part stay in part."""
    partly = 0
    for own in alone(deep()):
        for scheme in schemes(SMALL, own, 6):
            plan = plan_as(SMALL, own.group, scheme, own.upwards)
            assert plan is not None
            other = turned(SMALL, plan)
            assert (other.cost, other.reloaded, other.upwards) == (plan.cost, plan.reloaded, not plan.upwards)
            cheap = plan_as(SMALL, own.group, replace(scheme, partly=False), own.upwards)
            partly += scheme.partly and cheap is not None and cheap.reloaded != plan.reloaded
    assert partly, "some schemes keep a part of their parameters on chip"


def test_what_a_schedule_decides_has_no_schemes() -> None:
    own = alone(deep())[0]
    wanted = GroupSchedule((own.group.layers[0].op.name,), steps=2)
    assert schemes(SMALL, plan_group(SMALL, own.group, wanted=wanted), 6) == []


def test_every_scheme_computes_the_same() -> None:
    graph = deep()
    steps = alone(graph)
    evaluator = Evaluator(SMALL, graph)
    rows = [[step, *others_of(evaluator, step, 6)] for step in steps]
    most = max(map(len, rows))
    assert most > 4
    for number in range(most):
        mixed = chosen(steps, rows, tuple((number + n) % len(row) for n, row in enumerate(rows)))
        check_emitted(SMALL, graph, emit_program(SMALL, graph, mixed))


@pytest.mark.parametrize("seed", range(40))
def test_what_all_programs_tell_is_what_pairs_cost(seed: int) -> None:
    """Programs that are sums of pairs: asked for every pair, the choice is the best of all."""
    rng = random.Random(seed)
    sizes = [rng.randrange(1, 5) for _ in range(rng.randrange(1, 7))]
    first = {0, *(n for n in range(1, len(sizes)) if rng.random() < 0.2)}
    cost = {(n, a, b): rng.randrange(100) for n in range(len(sizes)) for a in range(5) for b in range(5)}

    def time(choices: Choices) -> Timed:
        spent = [cost[n, 0 if n in first else choices[n - 1], own] for n, own in enumerate(choices)]
        return sum(spent), spent

    told = PairCosts(sizes, sorted(first), lambda asked: [time(choices) for choices in asked])
    told.ask(*told.star())
    assert total(told, told.own) == told.whole[told.own]
    for number, size in enumerate(sizes):
        for own in range(size):
            changed = tuple(own if n == number else 0 for n in range(len(sizes)))
            assert total(told, changed) == time(changed)[0], "what differs in one group is known by now"
    all_choices = [*product(*map(range, sizes))]
    told.ask(*all_choices)
    least = min(time(choices)[0] for choices in all_choices)
    for found in (cheapest_chain(told.tables()), solved(problem_of(told.tables())).choices):
        assert total(told, found) == time(found)[0] == least


def total(told: PairCosts, choices: Choices) -> float:
    return float(sum(table[0 if len(table) == 1 else choices[n - 1], choices[n]] for n, table in enumerate(told.tables())))


@pytest.mark.parametrize("seed", range(6))
def test_the_choice_is_never_slower_and_computes_what_the_graph_says(seed: int) -> None:
    graph = random_graph(seed, 6)
    evaluator = Evaluator(SMALL, graph)
    steps = plans_of(SMALL, graph, one_each(graph))
    found = with_schemes(evaluator, steps, 4)
    assert program_cycles(SMALL, graph, found) <= program_cycles(SMALL, graph, steps)
    assert [step.group.name for step in plans(found)] == [step.group.name for step in plans(steps)]
    check_emitted(SMALL, graph, emit_program(SMALL, graph, found))


def test_some_choice_is_faster() -> None:
    graph = deep()
    found = with_schemes(Evaluator(SMALL, graph), alone(graph), 6)
    assert program_cycles(SMALL, graph, found) < program_cycles(SMALL, graph, alone(graph))


def test_what_groups_take_adds_up_to_the_program() -> None:
    graph = deep()
    cycles, spent = spent_by(SMALL, graph, alone(graph))
    assert len(spent) == len(alone(graph))
    assert sum(spent) == cycles - END_TAIL


@pytest.mark.parametrize("strategy", ["best", "neocpu"])
def test_a_choice_saved_as_a_schedule_compiles_to_the_same_program(strategy: str) -> None:
    """And so do groups that put maps together on chip."""
    for graph in (random_graph(4, 6), random_graph(38, 6)):
        compiles_again(graph, strategy)


def compiles_again(graph: XGraph, strategy: str) -> None:
    found = frugal_steps(SMALL, graph, strategy, "cycles", effort=EFFORTS["full"])
    assert any(not step.wanted.free for step in plans(found.steps)), "some group has another scheme than its best alone"
    text = schedule_text(SMALL, graph, found.steps, found.sharing)
    decided = decisions(SMALL, graph, parse_schedule(text))
    planned = plans_of(SMALL, graph, decided.groups, CYCLES, wanted=decided.wanted, listed=True)
    again = frugal(SMALL, graph, planned, CYCLES, decided.arrangement)
    assert schedule_text(SMALL, graph, again.steps, again.sharing) == text
    before = emit_program(SMALL, graph, found.steps, found.sharing)
    after = emit_program(SMALL, graph, again.steps, again.sharing)
    assert (before.words, before.const) == (after.words, after.const)
    check_emitted(SMALL, graph, after)


def test_the_shapes_that_wait_most_have_schemes() -> None:
    """All groups of a shape together; groups wait for as long as they take beyond their busiest unit, or the bus."""
    graph = deep()
    evaluator = Evaluator(SMALL, graph)
    steps = alone(graph)
    _, spent = spent_by(SMALL, graph, steps)
    masks = [evaluator.sets.mask([layer.op for layer in step.group.layers]) for step in steps]
    waits = {mask: taken - evaluator.floors.of(mask, CYCLES) for mask, taken in zip(masks, spent, strict=True)}
    assert len({evaluator.shapes.key(mask) for mask in masks}) == len(masks)
    for count in range(len(steps) + 1):
        most = sorted(masks, key=lambda mask: -waits[mask])[:count]
        assert that_wait(evaluator, steps, count) == [mask in most for mask in masks]
