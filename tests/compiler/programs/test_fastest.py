"""The program that is chosen, beside the programs of partitions that are timed one by one."""

from __future__ import annotations

import pytest

import compiler.programs.fastest
from compiler.planning.objective import CYCLES
from compiler.programs.fastest import Programs, contenders, fastest
from compiler.programs.timing import program_cycles
from compiler.search.best import best
from compiler.search.cost import Evaluator
from compiler.search.crew import Crew
from compiler.search.partition import partition_by
from isa.config import preset
from sim.cycle.timing import END_TAIL
from tests.compiler.search.partitions import random_graph

NANO = preset("nano")


@pytest.mark.parametrize("cores", [1, 2])
@pytest.mark.parametrize("seed", range(4))
def test_no_contender_makes_a_faster_program(seed: int, cores: int) -> None:
    graph = random_graph(seed)
    with Crew(cores) as crew:
        chosen = program_cycles(NANO, graph, fastest(Evaluator(NANO, graph, crew=crew)))
    programs = Programs(evaluator := Evaluator(NANO, graph))
    near = contenders(programs, programs.path(partition_by(best, graph, evaluator, CYCLES).groups))
    assert chosen <= min(program_cycles(NANO, graph, programs.steps(path)) for path in near)


@pytest.mark.parametrize("seed", range(4))
def test_contenders_are_different_and_near_the_least_sum(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    graph = random_graph(seed)
    programs = Programs(evaluator := Evaluator(NANO, graph))
    cheapest = programs.path(partition_by(best, graph, evaluator, CYCLES).groups)
    near = contenders(programs, cheapest)
    assert len({*near}) == len(near)
    prices = [programs.price(path) for path in near]
    assert prices == sorted(prices)
    assert prices[0] == programs.price(cheapest)
    monkeypatch.setattr(compiler.programs.fastest, "MARGIN", 0)
    assert {programs.price(path) for path in contenders(programs, cheapest)} == {prices[0]}


def test_what_groups_take_behind_each_other_is_learnt_from_programs() -> None:
    """What they take in a program adds up to it; behind others they are taken to take what they took last."""
    graph = random_graph(1)
    programs = Programs(evaluator := Evaluator(NANO, graph))
    path = programs.path(tuple((op,) for op in evaluator.sets.ops))
    programs.time([path])
    pairs = list(zip((0, *path), path, strict=False))
    assert sum(programs.behind(*pair) for pair in pairs) == programs.cycles[path] - END_TAIL
    assert programs.behind(path[-1], path[0]) == programs.behind(0, path[0])
