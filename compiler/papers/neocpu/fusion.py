"""``neocpu``: fuses each operation with the element-wise operations behind it, as in NeoCPU.

NeoCPU builds on TVM, which fuses an element-wise operation into the maker of its operand, if nobody else reads that. NeoCPU
does not search the partition, but a scheme for each group: first for the group, then for all of them together (``search.py``).
Where costs are measured, an operation is fused only if that does not cost more.
"""

from __future__ import annotations

from compiler.fusion.legal import Mask, bits_of
from compiler.search.cost import Evaluator, Objective
from compiler.search.partition import Partition, made_of, measured_dearer, price_or_none
from compiler.xgraph.graph import XGraph
from compiler.xgraph.ops import Channels


def neocpu(graph: XGraph, evaluator: Evaluator, objective: Objective) -> Partition:
    """The partition by that rule. Of several makers the last one takes the operation. A group must fit at some tiling.

    Only the last operation of a group is read by others, so groups never wait for each other.
    """
    sets = evaluator.sets
    group_of: dict[int, Mask] = {}
    for number, op in enumerate(sets.ops):
        one = group = 1 << number
        if op.in_place and op.reads_channels is Channels.OWN:
            makers = [maker for maker in bits_of(sets.needs[number]) if sets.only_feeds(maker, number)]
            wider = (group_of[maker] | one for maker in reversed(makers))
            fitting = (mask for mask in wider if sets.legal(mask) and price_or_none(evaluator, objective, mask) is not None)
            worth = (mask for mask in fitting if not measured_dearer(evaluator, objective, mask, [mask ^ one, one]))
            group = next(worth, one)
        group_of |= dict.fromkeys(bits_of(group), group)
    return made_of(evaluator, objective, [*dict.fromkeys(group_of.values())])
