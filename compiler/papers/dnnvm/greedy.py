"""``greedy``: the largest template at each operation in turn, as DNNVM section 4.2 describes what others do."""

from __future__ import annotations

from compiler.fusion.legal import Mask
from compiler.fusion.templates import template_groups
from compiler.search.cost import Evaluator, Objective
from compiler.search.partition import Partition, made_of, price_of, price_or_none
from compiler.xgraph.graph import XGraph


def greedy(graph: XGraph, evaluator: Evaluator, objective: Objective) -> Partition:
    """Operations in topological order; one that is free takes the largest embedding that starts with it, whose other
    members are free, that fits on chip with all its parameters and costs no more than its members alone."""
    sets = evaluator.sets
    starting: dict[int, list[Mask]] = {}
    embeddings = template_groups(sets)
    evaluator.plan_all([*embeddings], objective)
    for group in embeddings:
        starting.setdefault(group & -group, []).append(group)
    chosen = [1 << n for n in range(len(sets.ops))]
    taken = 0
    for number in range(len(sets.ops)):
        if taken >> number & 1:
            continue
        for group in sorted(starting.get(1 << number, []), key=lambda mask: (-mask.bit_count(), mask)):
            price = price_or_none(evaluator, objective, group)
            alone = [1 << n for n in range(len(sets.ops)) if group >> n & 1]
            fits = not group & taken and evaluator.parameters_fit(group)
            if not fits or price is None or price > sum(price_of(evaluator, objective, mask) for mask in alone):
                continue
            candidate = [mask for mask in chosen if not mask & group] + [group]
            if sets.in_order(candidate) is not None:
                chosen, taken = candidate, taken | group
                break
    return made_of(evaluator, objective, chosen)
