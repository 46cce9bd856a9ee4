"""``optimus``: all groups that data flow connects, and the best of all partitions into them (Optimus sections 4 and 5)."""

from __future__ import annotations

from compiler.fusion.grow import grow
from compiler.search.cost import Evaluator, Objective
from compiler.search.partition import Partition, left_out_of
from compiler.search.pricing import most_of_a_size, partition_into, priced, saving_over_alone
from compiler.tuned import MOST_OPS
from compiler.xgraph.graph import XGraph


def optimus(graph: XGraph, evaluator: Evaluator, objective: Objective) -> Partition:
    """The best partition into connected groups by the paper's recurrence, without its flaw (see ``cover``)."""
    sets = evaluator.sets
    worth = saving_over_alone(evaluator, objective)
    grown = grow(sets, sets.feeds, MOST_OPS, most_of_a_size(sets), worth, evaluator.ahead(objective))
    prices = priced(evaluator, objective, grown.groups)
    return partition_into(evaluator, objective, prices, complete=grown.complete, left_out=left_out_of(grown))
