"""Schemes of the groups that wait: what they gain, who is left alone, and how few programs tell it."""

from __future__ import annotations

from math import inf

import pytest

from compiler.search.crew import Crew
from compiler.driver import frugal_steps
from compiler.programs.fastest import fastest
from compiler.planning.objective import CYCLES
from compiler.planning.plan import Plan
from compiler.schemes import choice, dynamic
from compiler.programs.schemes import REST, Steps, in_schemes, others_of, that_wait, with_schemes
from compiler.programs.pair_costs import PairCosts
from compiler.schemes.walk import HOPELESS, by_walk, promising_rows
from compiler.search.cost import Evaluator
from compiler.search.effort import EFFORTS
from compiler.programs.timing import program_cycles, spent_by
from isa.config import preset
from tests.compiler.search.partitions import random_graph

NANO = preset("nano")


def evaluated(seed: int) -> tuple[Evaluator, list[Plan]]:
    """A graph without CPU parts, and the groups of its fastest program."""
    evaluator = Evaluator(NANO, random_graph(seed))
    return evaluator, [step for step in fastest(evaluator) if isinstance(step, Plan)]


@pytest.mark.parametrize("seed", range(6))
def test_a_group_waits_for_what_it_takes_beyond_its_busiest_unit(seed: int) -> None:
    evaluator, steps = evaluated(seed)
    cycles, spent = spent_by(NANO, evaluator.graph, steps)
    masks = [sum(1 << evaluator.sets.index[layer.output] for layer in plan.group.layers) for plan in steps]
    waits = [max(0, taken - evaluator.floors.of(mask, CYCLES)) for taken, mask in zip(spent, masks, strict=True)]
    keys = [evaluator.shapes.key(mask) for mask in masks]
    for share in (0.0, 0.01, 0.05, 0.2):
        together = {key: sum(wait for wait, other in zip(waits, keys, strict=True) if other == key) for key in keys}
        asked = dict(zip(keys, that_wait(evaluator, steps, share), strict=True))
        left = [wait for key, wait in together.items() if not asked[key]]
        taken = [wait for key, wait in together.items() if asked[key]]
        assert max(left, default=0) <= share * cycles
        assert sum(left) <= REST * share * cycles
        assert min(taken, default=inf) >= max(left, default=0), "those that wait most"
        least = min(taken, default=inf)
        assert least > share * cycles or sum(left) + least > REST * share * cycles, "and no more than that"


def test_many_groups_that_wait_for_little_each_are_asked_about_too(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nine shapes that wait for one part in a thousand each, and one for two: for less than 0.5 % each, for 1.1 % together."""
    evaluator, steps = evaluated(0)
    many = [steps[0]] * 10
    waits = [2, *[1] * 9]
    monkeypatch.setattr(choice, "spent_by", lambda *program: (1000, [10 + wait for wait in waits]))
    monkeypatch.setattr(evaluator.floors, "of", lambda mask, kind: 10)
    shapes = iter([*range(10)] * 2)
    monkeypatch.setattr(evaluator.shapes, "key", lambda mask: next(shapes))
    assert that_wait(evaluator, many, 0.003) == [False] * 10, "eleven are no more than four times three"
    shapes = iter([*range(10)] * 2)
    assert that_wait(evaluator, many, 0.002) == [True, True, *[False] * 8], "until at most eight, four times two, are left"


@pytest.mark.parametrize("seed", range(6))
def test_a_program_is_never_slower_for_it_and_only_groups_that_wait_change(seed: int) -> None:
    evaluator, steps = evaluated(seed)
    share = 0.02
    found = with_schemes(evaluator, steps, 2, waiting=share, walked=2)
    assert program_cycles(NANO, evaluator.graph, found) <= program_cycles(NANO, evaluator.graph, steps)
    for before, after, waits in zip(steps, found, that_wait(evaluator, steps, share), strict=True):
        assert after is before or waits


def test_some_programs_are_faster_for_it() -> None:
    gains = []
    for seed in range(6):
        evaluator, steps = evaluated(seed)
        found = with_schemes(evaluator, steps, 4, waiting=0.0, walked=4)
        gains.append(program_cycles(NANO, evaluator.graph, steps) - program_cycles(NANO, evaluator.graph, found))
    assert max(gains) > 0


def test_where_no_group_waits_for_so_much_nothing_is_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    evaluator, steps = evaluated(1)
    monkeypatch.setattr(choice, "plan_as", lambda *asked: pytest.fail("no group waits"))
    assert with_schemes(evaluator, steps, 2, waiting=1.0) == steps


def test_two_cores_choose_what_one_does() -> None:
    evaluator, steps = evaluated(2)
    alone = with_schemes(evaluator, steps, 4, waiting=0.0)
    with Crew(2) as crew:
        both = Evaluator(NANO, evaluator.graph, crew=crew)
        again = with_schemes(both, steps, 4, waiting=0.0)
    assert [plan.wanted for plan in plans(again)] == [plan.wanted for plan in plans(alone)]


def plans(steps: Steps) -> list[Plan]:
    return [step for step in steps if isinstance(step, Plan)]


def test_groups_apart_are_asked_about_in_the_same_program() -> None:
    def costs(*sizes: int, first: tuple[int, ...] = (0,)) -> list[tuple[int, ...]]:
        return [*PairCosts(sizes, first, lambda asked: []).star()]

    assert costs(3, 1, 3) == [(0, 0, 0), (1, 0, 1), (2, 0, 2)]
    assert costs(1, 3, 3, 3) == [(0, 0, 0, 0), (0, 1, 0, 1), (0, 0, 1, 0), (0, 2, 0, 2), (0, 0, 2, 0)]
    assert costs(2, 2, first=(0, 1)) == [(0, 0), (1, 1)], "the machine rests between them"


@pytest.mark.parametrize("seed", range(4))
def test_of_many_schemes_those_are_timed_that_promise_most_by_the_walk(seed: int) -> None:
    """The best choice of all by the walk is among the best choices of what is kept; the group's own comes first."""
    evaluator, steps = evaluated(seed)
    rows = [[plan, *others_of(evaluator, plan, 4)] for plan in steps]
    kept = promising_rows(evaluator, steps, rows, 2)
    assert [row[0] for row in kept] == steps
    problem = by_walk(evaluator, steps, rows)
    for row, before, costs in zip(kept, rows, dynamic.margins(problem), strict=True):
        hopeful = [cost for cost in costs[1:] if cost <= costs[0] + HOPELESS * costs.min()]
        assert len(row) == min(3, 1 + len(hopeful)) <= len(before)
    least = dynamic.solve(problem)
    assert least is not None
    for number, (row, before) in enumerate(zip(kept, rows, strict=True)):
        assert before[least.choices[number]] in row
    for number, costs in enumerate(dynamic.margins(problem)):
        assert costs.min() == least.cost
        dropped = [cost for cost, plan in zip(costs, rows[number], strict=True) if plan not in kept[number]]
        assert all(costs[rows[number].index(plan)] <= cost for plan in kept[number][1:] for cost in dropped)


def test_normal_effort_asks_those_that_wait_full_asks_all_and_quick_none(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[tuple[int, dict[str, object]]] = []
    monkeypatch.setattr(choice, "with_schemes", lambda evaluator, steps, count, **how: asked.append((count, how)))
    for name, effort in EFFORTS.items():
        in_schemes(Evaluator(NANO, random_graph(0), effort=effort), [])
        assert (name, bool(asked[-1][0])) in {("quick", False), ("normal", True), ("full", True)}
    assert [how["waiting"] is None for _, how in asked] == [True, False, True]


@pytest.mark.parametrize(("effort", "count"), [("normal", 6), ("full", 8)])
def test_neocpu_asks_all_groups_whatever_best_has_time_for(effort: str, count: int, monkeypatch: pytest.MonkeyPatch) -> None:
    asked = []

    def watched(evaluator: Evaluator, steps: Steps, count: int, **how: object) -> Steps:
        asked.append((count, how))
        return steps

    monkeypatch.setattr("compiler.driver.with_schemes", watched)
    frugal_steps(NANO, random_graph(0), "neocpu", "cycles", effort=EFFORTS[effort])
    assert asked == [(count, {})]
