"""A network of which the machine computes nothing has no groups, whatever the strategy."""

from __future__ import annotations

import pytest

from compiler.search.cost import OBJECTIVES, Evaluator
from compiler.search.strategies import STRATEGIES
from compiler.xgraph.graph import XGraph
from isa.config import preset


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_no_operation_makes_no_group(strategy: str) -> None:
    graph = XGraph("empty", {}, (), (), ())
    partition = STRATEGIES[strategy](graph, Evaluator(preset("nano"), graph), OBJECTIVES["cycles"])
    assert (partition.groups, partition.value) == ((), 0)
