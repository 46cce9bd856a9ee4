"""``best``, the project's own strategy: the widest choice of groups, and the best partition into them with its proof."""

from __future__ import annotations

from compiler.fusion.grow import Grown, grow
from compiler.fusion.legal import Mask
from compiler.planning.objective import CYCLES
from compiler.search.certify import certify
from compiler.search.cost import Evaluator, Objective
from compiler.search.partition import Partition, left_out_of, made_of
from compiler.search.pricing import most_of_a_size, partition_into, priced, saving_over_alone
from compiler.search.promising import promising
from compiler.tuned import LEAN_PART, MOST_OPS, SHORT_OPS
from compiler.xgraph.graph import XGraph


def best(graph: XGraph, evaluator: Evaluator, objective: Objective) -> Partition:
    """The best partition into groups that are connected by data flow or by a map that they share.

    Where the graph is small enough, all such groups are weighed. Else, for cycles, those are that promise most
    (``promising.py``). For bytes, the groups of each size that save most are, and those that ``optimus`` would weigh.
    """
    groups, grown = weighed_groups(evaluator, objective)
    prices = priced(evaluator, objective, [*groups])
    found = certify(evaluator.sets, prices, evaluator.shapes)
    if found.groups is None:
        return partition_into(evaluator, objective, prices, complete=grown.complete, left_out=left_out_of(grown))
    # The bound holds only if no group is missing, for a longer group may be cheaper than all of its parts.
    return made_of(
        evaluator, objective, found.groups, exact=grown.complete and found.exact, bound=found.bound if grown.all else 0,
        left_out=left_out_of(grown),
    )  # fmt: skip


def weighed_groups(evaluator: Evaluator, objective: Objective) -> tuple[set[Mask], Grown]:
    """Returns the groups to choose from, and what the growth of the groups left out."""
    sets, effort = evaluator.sets, evaluator.effort
    if objective is CYCLES:
        grown = promising(evaluator, objective, max(effort.planned, len(sets.ops)))
        return {*grown.groups}, grown
    worth, ahead = saving_over_alone(evaluator, objective), evaluator.ahead(objective)
    grown = grow(sets, sets.joins, effort.most_ops, effort.weighed * most_of_a_size(sets), worth, ahead)
    groups = {*grown.groups}
    if not grown.complete:
        groups.update(grow(sets, sets.feeds, MOST_OPS, most_of_a_size(sets), worth, ahead).groups)
    return groups, grown


def plan_promising(evaluator: Evaluator, objective: Objective) -> None:
    """Plans the groups that promise most by ``objective``, with plans for the objective of the evaluator (``planned_for``)."""
    promising(evaluator, objective, int(evaluator.effort.planned / LEAN_PART))


def plan_short(evaluator: Evaluator, objective: Objective) -> None:
    """Plans groups of few operations that data flow connects: of each size as many as the graph has operations."""
    sets = evaluator.sets
    grow(sets, sets.feeds, SHORT_OPS, len(sets.ops), saving_over_alone(evaluator, objective), evaluator.ahead(objective))


def best_of_weighed(evaluator: Evaluator, objective: Objective, charge: int = 0) -> list[Mask] | None:
    """The best partition into groups that the evaluator knows, if each cost ``charge`` more. None: no partition is found."""
    alone = [1 << n for n in range(len(evaluator.sets.ops))]
    groups = [*dict.fromkeys([*alone, *evaluator.weighed(objective)])]
    return certify(evaluator.sets, priced(evaluator, objective, groups, charge), evaluator.shapes).groups
