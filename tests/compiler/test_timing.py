"""What groups take behind each other, beside whole programs."""

from __future__ import annotations

import pytest

from compiler.planning.plans import plans_of
from compiler.search.cost import Evaluator
from compiler.timing import Neighbours, program_cycles
from isa.config import preset
from sim.cycle.timing import END_TAIL
from tests.compiler.search.partitions import random_graph

NANO = preset("nano")


@pytest.mark.parametrize("seed", range(6))
def test_a_row_of_groups_takes_as_long_as_its_program(seed: int) -> None:
    """Where no pair comes twice: a second one of equal shape is not timed again, and may meet another neighbour."""
    graph = random_graph(seed)
    evaluator = Evaluator(NANO, graph)
    alone = [(op,) for op in evaluator.sets.ops]
    neighbours = Neighbours(evaluator)
    path = neighbours.path(alone)
    row = neighbours.behind((0, *path[:2]))
    assert sum(row) == program_cycles(NANO, graph, plans_of(NANO, graph, alone)[:2]) - END_TAIL
    assert neighbours.behind(path[:2]) == row[1:], "known pairs keep their times"
    assert neighbours.whole(path) == program_cycles(NANO, graph, neighbours.steps(path))
