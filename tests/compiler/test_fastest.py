"""The program that is chosen, beside the programs of all strategies."""

from __future__ import annotations

import pytest

from compiler.crew import Crew
from compiler.emit.places import Sharing
from compiler.fastest import GAIN, Tried, Work, fastest
from compiler.neighbours import Neighbours
from compiler.ordering import smaller
from compiler.planning.objective import CYCLES
from compiler.planning.plans import plans_of
from compiler.search.best import best
from compiler.search.cost import Evaluator
from compiler.search.partition import partition_by
from compiler.search.strategies import CONTENDERS
from compiler.timing import program_cycles, program_ends
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


def test_while_a_helper_times_the_program_that_is_taken_it_is_timed_in_less_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    graph = random_graph(1)
    with Crew(2) as crew:
        evaluator = Evaluator(NANO, graph, crew=crew)
        neighbours = Neighbours(evaluator)
        path = neighbours.path([(op,) for op in evaluator.sets.ops])
        steps = neighbours.steps(path)
        sharing = Sharing(overlap=True)
        assert smaller(graph, steps) in (None, sharing)
        monkeypatch.setattr("compiler.fastest.smaller", lambda graph, steps: sharing)
        tried = Tried(evaluator, neighbours)
        tried.ask([path, neighbours.path(evaluator.whole(partition_by(best, graph, evaluator, CYCLES).groups))])
        tried._whole.clear()
        taken = tried.fastest()
        timed = {work: tried._time(work) for work in (Work(taken), Work(taken, sharing=sharing))}
    assert tried.told[taken] == program_cycles(NANO, graph, neighbours.steps(taken)) - END_TAIL
    monkeypatch.setattr("compiler.timing._timed", None)
    assert program_ends(NANO, graph, tuple(neighbours.steps(taken)), sharing) == timed[Work(taken, sharing=sharing)]


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
