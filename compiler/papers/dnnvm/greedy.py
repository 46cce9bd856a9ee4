"""``greedy``: takes the largest template at each operation in turn, as DNNVM section 4.2 describes other compilers."""

from __future__ import annotations

from collections.abc import Mapping

from compiler.fusion.legal import Mask, OpSets, bits_of
from compiler.fusion.templates import template_groups
from compiler.search.cost import Evaluator, Objective
from compiler.search.partition import Partition, made_of, price_of, price_or_none
from compiler.xgraph.graph import XGraph


def greedy(graph: XGraph, evaluator: Evaluator, objective: Objective) -> Partition:
    """Each free operation, in topological order, takes the largest embedding that starts with it and has free members only.

    The embedding must fit on chip with all its parameters, and cost no more than its members alone.
    """
    sets = evaluator.sets
    starting: dict[int, list[Mask]] = {}
    embeddings = template_groups(sets)
    evaluator.plan_all([*embeddings], objective)
    for group in embeddings:
        starting.setdefault(group & -group, []).append(group)
    alone = [price_of(evaluator, objective, 1 << n) for n in range(len(sets.ops))]
    chosen: dict[Mask, Mask] = {}
    taken = 0
    for number in range(len(sets.ops)):
        if taken >> number & 1:
            continue
        for group in sorted(starting.get(1 << number, []), key=lambda mask: (-mask.bit_count(), mask)):
            price = price_or_none(evaluator, objective, group)
            fits = not group & taken and evaluator.parameters_fit(group)
            if not fits or price is None or price > sum(alone[n] for n in bits_of(group)):
                continue
            if not closes_circle(sets, group, chosen):
                chosen[group] = sets.after(group)
                taken |= group
                break
    return made_of(evaluator, objective, [*chosen, *(1 << n for n in bits_of(sets.everything & ~taken))])


def closes_circle(sets: OpSets, group: Mask, chosen: Mapping[Mask, Mask]) -> bool:
    """Whether the group would wait for itself through ``chosen`` groups, given with the operations that run after each."""
    reached, others = sets.after(group), chosen
    while not reached & group:
        behind = [other for other in others if other & reached]
        if not behind:
            return False
        others = {other: after for other, after in others.items() if not other & reached}
        for other in behind:
            reached |= other | chosen[other]
    return True
