"""The program that is chosen, beside the programs of all strategies."""

from __future__ import annotations

import pytest

from compiler.fastest import GAIN, Tried, fastest
from compiler.neighbours import Neighbours
from compiler.planning.objective import CYCLES
from compiler.planning.plans import plans_of
from compiler.search.cost import Evaluator
from compiler.search.partition import partition_by
from compiler.search.strategies import CONTENDERS
from compiler.timing import program_cycles
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


@pytest.mark.parametrize("seed", range(6))
def test_what_is_taken_was_timed_whole_and_nothing_is_told_to_be_faster(seed: int) -> None:
    graph = random_graph(seed)
    evaluator = Evaluator(NANO, graph)
    neighbours = Neighbours(evaluator)
    partitions = [partition_by(strategy, graph, evaluator, CYCLES).groups for strategy in CONTENDERS.values()]
    paths = [*dict.fromkeys(neighbours.path(evaluator.whole(groups)) for groups in partitions)]
    tried = Tried(evaluator, neighbours)
    tried.ask(paths[:1])
    tried.ask(paths[1:])
    assert set(tried.told) == set(paths)
    path = tried.fastest()
    assert tried.told[path] == program_cycles(NANO, graph, neighbours.steps(path)) - END_TAIL
    assert tried.told[path] == min(tried.told.values())


def test_a_program_of_known_neighbours_is_not_timed_again(monkeypatch: pytest.MonkeyPatch) -> None:
    graph = random_graph(1)
    evaluator = Evaluator(NANO, graph)
    neighbours = Neighbours(evaluator)
    path = neighbours.path([(op,) for op in evaluator.sets.ops])
    first, again = Tried(evaluator, neighbours), Tried(evaluator, neighbours)
    first.ask([path])
    again.told[()] = 0
    monkeypatch.setattr("compiler.fastest.stretch_ends", None)
    monkeypatch.setattr("compiler.fastest.program_ends", None)
    again.ask([path])
    assert again.told[path] == pytest.approx(first.told[path], rel=0.01), "pairs of equal shapes may take a little more or less"
