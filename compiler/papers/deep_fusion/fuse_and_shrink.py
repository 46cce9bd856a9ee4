"""``fuse-and-shrink``: Deep Fusion's loop (its figure 6). A group takes the next layer as long as some tile of it fits on chip.

All of its data must fit, also its parameters. The order is that of the graph. The planner shrinks the tiles, and plans no group
that fits in none. Costs play no part: where data fits, the paper prefers to move less of it. Where costs are measured, the next
layer is taken only if the group then does not cost more than both parts.
"""

from __future__ import annotations

from compiler.fusion.legal import Mask, bits_of
from compiler.search.cost import Evaluator, Objective
from compiler.search.partition import LeftOut, Partition, made_of, measured_dearer, price_or_none
from compiler.tuned import MOST_OPS
from compiler.xgraph.graph import XGraph


def fuse_and_shrink(graph: XGraph, evaluator: Evaluator, objective: Objective) -> Partition:
    """The partition by that loop. Groups are stretches of the order, so they never wait for each other."""
    sets = evaluator.sets
    groups: list[Mask] = []
    first = longer = 0
    while first < len(sets.ops):
        group = 1 << first
        for size in range(2, min(MOST_OPS + 1, len(sets.ops) - first) + 1):
            wider = ((1 << size) - 1) << first
            if not sets.legal(wider):
                # Branches of a map that comes later are not connected yet.
                continue
            if not evaluator.parameters_fit(wider):
                break
            if size > MOST_OPS:
                longer += 1
                break
            if price_or_none(evaluator, objective, wider) is None:
                break
            more = [1 << n for n in bits_of(wider & ~group)]
            if measured_dearer(evaluator, objective, wider, [group, *more]):
                break
            group = wider
        groups.append(group)
        first += group.bit_count()
    return made_of(evaluator, objective, groups, left_out=LeftOut(0, longer, MOST_OPS))
