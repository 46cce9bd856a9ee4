"""``best``: ours. The widest choice of groups; for bytes never worse than any other strategy of groups as large."""

from __future__ import annotations

from compiler.fusion.grow import grow
from compiler.fusion.legal import Mask
from compiler.planning.objective import CYCLES
from compiler.search.certify import certify
from compiler.search.cost import Evaluator, Objective
from compiler.search.dnnvm import dnnvm
from compiler.search.efficient_s import efficient_s
from compiler.search.exhaust import least_of_all
from compiler.search.fuse_and_shrink import fuse_and_shrink
from compiler.search.greedy import greedy
from compiler.search.merge import merged
from compiler.search.naive import naive
from compiler.search.optimus import MOST_OPS, most_of_a_size, optimus, priced, saving_over_alone
from compiler.search.optimus_online import optimus_online
from compiler.search.partition import Partition, Strategy, left_out_of, made_of, partition_by
from compiler.search.promising import promising
from compiler.xgraph.graph import XGraph

QUICK: tuple[Strategy, ...] = (naive, greedy, dnnvm, efficient_s, fuse_and_shrink, optimus_online)
"""Those that plan few groups."""
MOST_SEARCHED = 2_500
"""Operations of a graph that is searched: NASNet-A-large, which takes a minute, has less than half. What the search takes grows
with the third power of them; of a larger graph the groups of ``greedy`` are taken, which takes as long as to emit them."""
LEAN_PART = 10 / 3
"""So many times fewer groups are planned for another objective than for cycles."""


def best(graph: XGraph, evaluator: Evaluator, objective: Objective) -> Partition:
    """Groups connected by data flow or by a map that they share, all of them where the graph is small enough.

    The others' groups are among them. For bytes, where not all groups could be weighed, those that ``optimus`` would weigh are,
    too: so no other strategy finds a cheaper partition, unless of larger groups (``as_written.py``). For cycles those that
    promise most are planned (``promising.py``): of a large graph a third of the plans make a cheaper partition, and ``optimus``
    and ``efficient_s`` need not be asked.
    """
    if len(evaluator.sets.ops) > MOST_SEARCHED:
        return partition_by(greedy, graph, evaluator, objective)
    quick = [strategy for strategy in QUICK if objective is not CYCLES or strategy is not efficient_s]
    rivals = [partition_by(strategy, graph, evaluator, objective) for strategy in quick]
    sets = evaluator.sets
    effort = evaluator.effort
    groups: set[Mask] = set()
    bound = 0
    if effort.proved:
        known = {sets.mask(group) for partition in rivals for group in partition.groups}
        proved = least_of_all(evaluator, objective, known.union(1 << n for n in range(len(sets.ops))))
        if proved is not None and proved.exact and proved.groups is not None:
            return made_of(evaluator, objective, proved.groups, exact=True, bound=proved.bound)
        if proved is not None:
            groups.update(proved.groups or ())
            bound = proved.bound
    groups.update(sets.mask(group) for partition in rivals for group in partition.groups)
    if objective is CYCLES:
        grown = promising(evaluator, objective, max(effort.planned, len(sets.ops)))
    else:
        worth, ahead = saving_over_alone(evaluator, objective), evaluator.ahead(objective)
        grown = grow(sets, sets.joins, effort.most_ops, effort.weighed * most_of_a_size(sets), worth, ahead)
        if not grown.complete:
            groups.update(grow(sets, sets.feeds, MOST_OPS, most_of_a_size(sets), worth, ahead).groups)
    groups.update(grown.groups)
    found = certify(sets, priced(evaluator, objective, [*groups]), evaluator.shapes)
    if found.groups is None:
        return min([*rivals, partition_by(optimus, graph, evaluator, objective)], key=lambda partition: partition.value)
    masks = found.groups
    if effort.proved and not grown.all:
        masks = merged(evaluator, objective, masks)
    # A bound is one only if no group is missing: longer ones might be cheaper than all of their parts.
    return made_of(
        evaluator, objective, masks, exact=grown.complete and found.exact, bound=found.bound if grown.all else bound,
        left_out=left_out_of(grown),
    )  # fmt: skip


def plan_promising(evaluator: Evaluator, objective: Objective) -> None:
    """Groups whose plans are what they are, of which some promise most by another objective."""
    promising(evaluator, objective, int(evaluator.effort.planned / LEAN_PART))


def best_of_weighed(evaluator: Evaluator, objective: Objective, charge: int = 0) -> list[Mask] | None:
    """The best partition into groups that the evaluator knows already, if each cost so much more; None where none is found."""
    alone = [1 << n for n in range(len(evaluator.sets.ops))]
    groups = [*dict.fromkeys([*alone, *evaluator.weighed(objective)])]
    return certify(evaluator.sets, priced(evaluator, objective, groups, charge), evaluator.shapes).groups
