"""``naive``: every operation alone."""

from __future__ import annotations

from compiler.search.cost import Evaluator, Objective
from compiler.search.partition import Partition, made_of
from compiler.xgraph.graph import XGraph


def naive(graph: XGraph, evaluator: Evaluator, objective: Objective) -> Partition:
    """The baseline of every table; the only choice there is, hence exact."""
    return made_of(evaluator, objective, [1 << n for n in range(len(evaluator.sets.ops))], exact=True)
