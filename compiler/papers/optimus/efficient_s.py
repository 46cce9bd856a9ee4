"""``efficient-s``: dynamic programming over stretches of one order of the graph (reference [50] of Optimus).

Optimus describes it in sections 2.2 and 2.3: groups are stretches of one topological order, and all their parameters must be on
chip at once. The order of reference [50] is not known; here it is that of the graph.
"""

from __future__ import annotations

from compiler.search.cost import Evaluator, Objective
from compiler.search.partition import LeftOut, Partition, price_of, price_or_none
from compiler.search.pricing import partition_into
from compiler.tuned import MOST_OPS
from compiler.xgraph.graph import XGraph


def efficient_s(graph: XGraph, evaluator: Evaluator, objective: Objective) -> Partition:
    """The partition by that rule. Groups are stretches of the order, so they never wait for each other."""
    count = len(evaluator.sets.ops)
    prices = {1 << n: price_of(evaluator, objective, 1 << n) for n in range(count)}
    stretches, longer = [], 0
    for first in range(count):
        for size in range(2, min(MOST_OPS + 1, count - first) + 1):
            group = ((1 << size) - 1) << first
            if not evaluator.parameters_fit(group):
                break
            if evaluator.sets.legal(group):
                if size > MOST_OPS:
                    longer += 1
                else:
                    stretches.append(group)
    evaluator.plan_all(stretches, objective)
    for group in stretches:
        price = price_or_none(evaluator, objective, group)
        if price is not None:
            prices[group] = price
    return partition_into(evaluator, objective, prices, left_out=LeftOut(0, longer, MOST_OPS))
