"""Schemes by the walk: only where groups wait, and never a slower program."""

from __future__ import annotations

import numpy as np
import pytest

from compiler.fastest import fastest
from compiler.planning.plan import Plan
from compiler.schemes import walked
from compiler.schemes.choice import others_of
from compiler.schemes.dynamic import solve
from compiler.schemes.walked import with_walked_schemes
from compiler.search.cost import Evaluator
from compiler.search.effort import EFFORTS
from compiler.timing import program_cycles
from isa.config import preset
from tests.compiler.search.partitions import random_graph

NANO = preset("nano")


@pytest.mark.parametrize("seed", range(6))
def test_a_program_is_never_slower_for_it_and_has_the_same_groups(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(walked, "SLACK", 1.0)
    monkeypatch.setattr(walked, "PROMISE", 0.0)
    graph = random_graph(seed)
    evaluator = Evaluator(NANO, graph)
    steps = fastest(evaluator)
    found = with_walked_schemes(evaluator, steps, 4)
    assert [step.group.name for step in found if isinstance(step, Plan)] == [
        step.group.name for step in steps if isinstance(step, Plan)
    ]
    assert program_cycles(NANO, graph, found) <= program_cycles(NANO, graph, steps)


def test_some_programs_are_faster_for_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(walked, "SLACK", 1.0)
    monkeypatch.setattr(walked, "PROMISE", 0.0)
    gains = []
    for seed in range(6):
        graph = random_graph(seed)
        evaluator = Evaluator(NANO, graph)
        steps = fastest(evaluator)
        found = with_walked_schemes(evaluator, steps, 4)
        gains.append(program_cycles(NANO, graph, steps) - program_cycles(NANO, graph, found))
    assert max(gains) > 0


def test_groups_that_wait_for_little_are_left_as_they_are(monkeypatch: pytest.MonkeyPatch) -> None:
    graph = random_graph(1)
    evaluator = Evaluator(NANO, graph)
    steps = fastest(evaluator)
    monkeypatch.setattr(walked, "SLACK", 1e9)
    monkeypatch.setattr(walked, "others_of", lambda *asked: pytest.fail("no group waits"))
    assert with_walked_schemes(evaluator, steps, 4) == steps
    assert with_walked_schemes(evaluator, steps, 0) == steps


def test_the_row_is_the_best_of_all_by_the_walk(monkeypatch: pytest.MonkeyPatch) -> None:
    """Costs of single pairs are left out of the problem, which must not change what is best."""
    graph = random_graph(2)
    evaluator = Evaluator(NANO, graph)
    steps = fastest(evaluator)
    plans = [step for step in steps if isinstance(step, Plan)]
    rows = [[plan] if number % 3 else [plan, *others_of(evaluator, plan, 2)] for number, plan in enumerate(plans)]
    problem = walked._problem(evaluator, steps, rows)
    solution = solve(problem)
    assert solution is not None
    for number, row in enumerate(rows):
        for other in range(len(row)):
            choices = list(solution.choices)
            choices[number] = other
            assert problem.cost(solution.choices) <= problem.cost(choices)
    assert np.isfinite(problem.cost(solution.choices))


def test_normal_effort_asks_for_them_and_quick_does_not() -> None:
    assert EFFORTS["normal"].walked > 0
    assert EFFORTS["quick"].walked == 0
