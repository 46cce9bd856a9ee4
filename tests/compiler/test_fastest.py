"""The program that is chosen, beside the programs of all strategies."""

from __future__ import annotations

import pytest

from compiler.fastest import GAIN, fastest
from compiler.planning.objective import CYCLES
from compiler.planning.plans import plans_of
from compiler.search.cost import Evaluator
from compiler.search.partition import partition_by
from compiler.search.strategies import CONTENDERS
from compiler.timing import program_cycles
from isa.config import preset
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
