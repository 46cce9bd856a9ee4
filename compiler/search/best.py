"""``best``: ours. The widest choice of groups, and never worse than any other strategy."""

from __future__ import annotations

from dataclasses import replace

from compiler.fusion.grow import grow
from compiler.fusion.legal import bits_of
from compiler.search.cost import Evaluator, Objective
from compiler.search.cover import cheapest
from compiler.search.dnnvm import dnnvm
from compiler.search.efficient_s import efficient_s
from compiler.search.greedy import greedy
from compiler.search.naive import naive
from compiler.search.optimus import MOST_OPS, MOST_STATES, most_of_a_size, optimus, priced, saving_over_alone
from compiler.search.optimus_online import optimus_online
from compiler.search.partition import Partition, Strategy, made_of, partition_by, price_of
from compiler.xgraph.graph import XGraph

QUICK: tuple[Strategy, ...] = (naive, greedy, dnnvm, efficient_s, optimus_online)


def best(graph: XGraph, evaluator: Evaluator, objective: Objective) -> Partition:
    """Groups connected by data flow or by a map that they share, all of them where the graph is small enough.

    The others' partitions come first: the cheapest is what a better one must undercut, so whatever cannot is given
    up early; it stands if none is found. ``optimus`` is only asked where the choice was narrowed for lack of room:
    otherwise all its groups are among ours.
    """
    rivals = [partition_by(strategy, graph, evaluator, objective) for strategy in QUICK]
    rival = min(rivals, key=lambda partition: partition.value)
    sets = evaluator.sets
    grown = grow(sets, sets.joins, MOST_OPS, most_of_a_size(sets), saving_over_alone(evaluator, objective))
    known = {sets.mask(group) for partition in rivals for group in partition.groups}
    cover = cheapest(
        sets, priced(evaluator, objective, [*known.union(grown.groups)]), evaluator.floors, objective,
        most_states=MOST_STATES, guide=_guide(evaluator, objective, rival), limit=rival.value,
    )  # fmt: skip
    exact = grown.complete and cover.dropped is None
    found = [*rivals]
    if cover.groups is not None:
        found.append(made_of(evaluator, objective, cover.groups))
    if not exact:
        found.append(partition_by(optimus, graph, evaluator, objective))
    return replace(min(found, key=lambda partition: partition.value), exact=exact)


def _guide(evaluator: Evaluator, objective: Objective, known: Partition) -> list[float]:
    """The cost of each operation: an equal share of its group in a good partition."""
    shares = [0.0] * len(evaluator.sets.ops)
    for group in known.groups:
        mask = evaluator.sets.mask(group)
        for n in bits_of(mask):
            shares[n] = price_of(evaluator, objective, mask) / len(group)
    return shares
