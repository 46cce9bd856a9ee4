"""PBQP, dynamic programming and HiGHS beside the enumeration of all choices."""

from __future__ import annotations

import random
from collections.abc import Sequence
from itertools import combinations, pairwise, product
from math import inf

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bench.papers.scheme_optimum import prove
from compiler.papers.neocpu import dynamic, pbqp
from compiler.papers.neocpu.problem import Problem
from isa.errors import TilewrightError


def problem_of(rng: random.Random, edges: Sequence[tuple[int, int]], count: int, missing: float = 0.0) -> Problem:
    """Costs of up to 40; ``missing``: of all pairs, those that cannot be."""
    sizes = [rng.randrange(1, 5) for _ in range(count)]

    def cost() -> float:
        return inf if rng.random() < missing else float(rng.randrange(40))

    return Problem(
        tuple(np.array([float(rng.randrange(40)) for _ in range(size)]) for size in sizes),
        {(m, n): np.array([[cost() for _ in range(sizes[n])] for _ in range(sizes[m])]) for m, n in edges},
    )


def least(problem: Problem) -> float:
    return min(problem.cost(choices) for choices in product(*(range(len(costs)) for costs in problem.nodes)))


@st.composite
def problems(draw: st.DrawFn) -> Problem:
    count = draw(st.integers(1, 7))
    every = [*combinations(range(count), 2)]
    edges = draw(st.lists(st.sampled_from(every), unique=True)) if every else []
    rng = random.Random(draw(st.integers(0, 1 << 30)))
    return problem_of(rng, edges, count, draw(st.sampled_from((0.0, 0.2, 0.5))))


@settings(max_examples=300, deadline=None)
@given(problems())
def test_all_agree_with_the_enumeration(problem: Problem) -> None:
    """PBQP finds a choice wherever there is one; what it calls exact is."""
    value = least(problem)
    if value == inf:
        for solve in (pbqp.solve, dynamic.solve, prove):
            with pytest.raises(TilewrightError, match="infinite; allow more choices"):
                solve(problem)
        return
    proof, table, reduced = prove(problem), dynamic.solve(problem), pbqp.solve(problem)
    assert table is not None
    assert proof.solution is not None
    assert (table.cost, proof.solution.cost, proof.bound) == (value, value, value)
    assert proof.solution.exact
    assert problem.cost(reduced.choices) == reduced.cost >= value
    assert reduced.cost < inf
    assert reduced.cost == value or not reduced.exact


def series_parallel(rng: random.Random, count: int) -> list[tuple[int, int]]:
    """Each new node hangs on one node, or on both ends of an edge."""
    edges = [(0, 1)]
    for node in range(2, count):
        first, second = rng.choice(edges)
        edges.append((first, node))
        if rng.random() < 0.7:
            edges.append((second, node))
    return edges


def test_reductions_are_exact_on_series_parallel_graphs() -> None:
    for seed in range(60):
        rng = random.Random(seed)
        count = rng.randrange(2, 8)
        problem = problem_of(rng, series_parallel(rng, count), count)
        found = pbqp.solve(problem)
        assert found.exact
        assert found.cost == least(problem)


def test_long_chains() -> None:
    """Far beyond enumeration: all three say the same."""
    for seed in range(20):
        rng = random.Random(seed)
        problem = problem_of(rng, [*pairwise(range(60))], 60)
        table, reduced, proof = dynamic.solve(problem), pbqp.solve(problem), prove(problem)
        assert table is not None
        assert reduced.exact
        assert table.cost == reduced.cost == proof.bound


def test_dense_graphs_need_guesses_and_tables_that_are_too_large() -> None:
    """Twelve nodes, all of them neighbours: a guess may be dear, which the proof tells."""
    rng = random.Random(1)
    problem = problem_of(rng, [*combinations(range(12), 2)], 12)
    reduced, proof = pbqp.solve(problem), prove(problem)
    assert not reduced.exact
    assert proof.solution is not None
    assert proof.solution.exact
    assert reduced.cost >= proof.solution.cost
    assert dynamic.solve(problem, states=100) is None
    table = dynamic.solve(problem)
    assert table is not None
    assert table.cost == proof.solution.cost


def test_a_guess_that_cannot_be_is_taken_back() -> None:
    """Of four nodes that must all differ the first is guessed: its cheap choice is one that two others need."""
    differ = np.where(np.eye(4, dtype=bool), inf, 0.0)
    only = [np.array([0.0, 9.0, 9.0, 1.0]), np.array([0.0, 0.0, inf, inf]), np.array([0.0, 0.0, inf, inf]), np.zeros(4)]
    problem = Problem(tuple(only), dict.fromkeys(combinations(range(4), 2), differ))
    found = pbqp.solve(problem)
    assert found.cost == least(problem) == 1


@pytest.mark.parametrize(
    ("nodes", "edges", "says"),
    [
        ([[]], {}, r"node 0: costs of shape \(0,\); expected a vector of at least one choice"),
        ([[1.0], [float("nan")]], {}, "node 1: cost nan; expected a number, or inf"),
        ([[-inf]], {}, "node 0: cost -inf; expected a number, or inf"),
        ([[1.0], [2.0]], {(1, 0): [[0.0]]}, "edge: ends 1 and 0; expected two of 2 nodes, the smaller one first"),
        ([[1.0], [2.0]], {(0, 2): [[0.0]]}, "edge: ends 0 and 2; expected two of 2 nodes"),
        ([[1.0], [2.0, 3.0]], {(0, 1): [[0.0]]}, r"edge 0-1: costs of shape \(1, 1\); expected \(1, 2\)"),
        ([[1.0], [2.0]], {(0, 1): [[float("nan")]]}, "edge 0-1: cost nan; expected a number"),
    ],
)
def test_what_is_no_problem_is_refused(nodes: list[list[float]], edges: dict[tuple[int, int], object], says: str) -> None:
    with pytest.raises(TilewrightError, match=says):
        Problem(tuple(np.array(n, float) for n in nodes), {ends: np.array(costs, float) for ends, costs in edges.items()})
