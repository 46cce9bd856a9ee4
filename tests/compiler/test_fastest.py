"""The program that is chosen, beside the programs of all strategies."""

from __future__ import annotations

import pytest

import compiler.programs.fastest
from compiler.search.crew import Crew
from compiler.programs.fastest import GAIN, Tried, fastest
from compiler.neighbours import Neighbours
from compiler.planning.objective import CYCLES
from compiler.planning.plans import plans_of
from compiler.search.cost import Evaluator
from compiler.search.partition import partition_by
from compiler.search.strategies import CONTENDERS
from compiler.programs.timing import program_cycles
from isa.config import preset
from sim.cycle.timing import END_TAIL
from tests.compiler.search.partitions import random_graph

NANO = preset("nano")


@pytest.mark.parametrize("seed", range(8))
def test_no_strategy_makes_a_program_that_is_much_faster(seed: int) -> None:
    """Where all that promise more are timed, what is left is what the walk sees too darkly."""
    graph = random_graph(seed)
    chosen = program_cycles(NANO, graph, fastest(Evaluator(NANO, graph)))
    evaluator = Evaluator(NANO, graph)
    partitions = [partition_by(strategy, graph, evaluator, CYCLES).groups for strategy in CONTENDERS.values()]
    others = [plans_of(NANO, graph, groups) for groups in partitions]
    assert chosen <= (1 + GAIN + 0.01) * min(program_cycles(NANO, graph, steps) for steps in others)


@pytest.mark.parametrize("cores", [1, 2])
@pytest.mark.parametrize(("short", "error"), [(10_000, 0), (0, 0.04)])
@pytest.mark.parametrize("seed", range(6))
def test_what_is_taken_is_told_to_be_fastest_and_takes_nearly_that(
    seed: int, short: int, error: float, cores: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Exactly that if it is short; else it is timed in two halves, and in part in other programs, which see too little of what
    comes before."""
    monkeypatch.setattr(compiler.programs.fastest, "SHORT", short)
    graph = random_graph(seed)
    with Crew(cores) as crew:
        evaluator = Evaluator(NANO, graph, crew=crew)
        neighbours = Neighbours(evaluator)
        partitions = [partition_by(strategy, graph, evaluator, CYCLES).groups for strategy in CONTENDERS.values()]
        paths = [*dict.fromkeys(neighbours.path(evaluator.whole(groups)) for groups in partitions)]
        tried = Tried(evaluator, neighbours)
        for path in paths:
            tried.ask(path)
        assert set(tried.told) == set(paths)
        path = tried.fastest()
    assert tried.told[path] == min(tried.told.values())
    assert tried.told[path] == pytest.approx(program_cycles(NANO, graph, neighbours.steps(path)) - END_TAIL, rel=error)


def test_a_program_of_known_neighbours_is_not_timed_again(monkeypatch: pytest.MonkeyPatch) -> None:
    graph = random_graph(1)
    evaluator = Evaluator(NANO, graph)
    neighbours = Neighbours(evaluator)
    path = neighbours.path([(op,) for op in evaluator.sets.ops])
    first, again = Tried(evaluator, neighbours), Tried(evaluator, neighbours)
    monkeypatch.setattr(compiler.programs.fastest, "SHORT", 0)
    first.ask(path)
    monkeypatch.setattr("compiler.programs.fastest.stretch_ends", None)
    again.ask(path)
    assert again.told == first.told
