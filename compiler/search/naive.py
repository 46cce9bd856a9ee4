"""``naive``: every operation alone."""

from __future__ import annotations

from compiler.search.cost import Evaluator, Objective
from compiler.search.partition import Partition, made_of
from compiler.xgraph.graph import XGraph


def naive(graph: XGraph, evaluator: Evaluator, objective: Objective) -> Partition:
    """The partition of single operations, the baseline of every table. It is exact, because there is no other choice."""
    return made_of(evaluator, objective, [1 << n for n in range(len(evaluator.sets.ops))], exact=True)
