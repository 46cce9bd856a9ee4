"""A program's groups merged with their neighbours, as far as that may be worth it: partitions with larger groups to time.

The search plans groups of a few operations (``search/promising.py``), for there are too many larger ones. Where programs wait
for the bus, as ResNets do on ``zu9``, groups of a hundred operations are faster: maps stay on chip, and parameters of late
layers, whose maps fit as a whole, are loaded once all the same. From a program that was timed they are reached by merging two
groups at a time (``search/merge.py``), those only that are hoped to save something.
"""

from __future__ import annotations

from compiler.fusion.legal import Mask
from compiler.neighbours import Neighbours
from compiler.planning.objective import CYCLES
from compiler.search.cost import Evaluator
from compiler.search.least import Least
from compiler.search.merge import merges
from compiler.search.partition import made_of, price_of
from compiler.search.splice import Path

WORTH = 1 / 300
"""Of what all groups cost: two groups that are not hoped to save so much are not planned as one. Of four networks on ``base``
and ``zu2`` hardly any are."""


def with_merged_groups(neighbours: Neighbours, path: Path) -> list[Path]:
    """Ways to run the program, with two more groups merged in each than in the one before."""
    evaluator = neighbours.evaluator
    groups = neighbours.groups(path)
    least = WORTH * sum(price_of(evaluator, CYCLES, group) for group in groups)

    def may_merge(one: Mask, other: Mask) -> bool:
        return _hoped_saving(evaluator, one, other) > least

    partitions = merges(evaluator, CYCLES, groups, may_merge)
    return [neighbours.path(made_of(evaluator, CYCLES, masks).groups) for masks in partitions]


def _hoped_saving(evaluator: Evaluator, one: Mask, other: Mask) -> int:
    """As of groups that promise most: together they may be no farther from their least than the nearer of them from its own."""
    least = evaluator.once(Least)
    costs = [price_of(evaluator, CYCLES, group) for group in (one, other)]
    beyond = min(cost - least.of(group, CYCLES) for cost, group in zip(costs, (one, other), strict=True))
    return sum(costs) - least.of(one | other, CYCLES) - beyond
