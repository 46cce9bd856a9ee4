"""A program's groups joined with their neighbours, as far as that may be worth it: partitions with larger groups to time.

The search plans groups of a few operations (``search/promising.py``), for there are too many larger ones. Where programs wait
for the bus, as ResNets do on ``zu9``, groups of sixty operations are faster: maps stay on chip, and parameters of late layers,
whose maps fit as a whole, are loaded once all the same. From a program that was timed they are reached by joining two groups at
a time (``search/merge.py``); and of each two it is known what they can save at most, so that few are planned: what they take in
it, less what no plan of both can undercut.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise

from compiler.fusion.legal import Mask
from compiler.neighbours import Neighbours
from compiler.planning.objective import CYCLES
from compiler.search.merge import merges
from compiler.search.partition import made_of
from compiler.search.splice import Path

WORTH = 1 / 300
"""Of a program's cycles: two groups that cannot save so much are not planned as one. No pair of two networks on ``base`` can, of
MobileNetV2 on ``zu9`` eight of nine."""


def with_joins(neighbours: Neighbours, path: Path, most_ops: float) -> list[Path]:
    """Ways to run the program, in each two groups joined that are apart in the one before; none of more operations than that.

    The last has the largest groups.
    """
    evaluator = neighbours.evaluator
    may_join = _may_join(neighbours, path, most_ops)
    partitions = merges(evaluator, CYCLES, neighbours.groups(path), may_join)
    return [neighbours.path(made_of(evaluator, CYCLES, groups).groups) for groups in partitions]


def _may_join(neighbours: Neighbours, path: Sequence[Mask], most_ops: float) -> Callable[[Mask, Mask], bool]:
    evaluator = neighbours.evaluator
    groups = neighbours.groups(path)
    behind = [neighbours.hoped(*pair) for pair in pairwise((0, *path)) if neighbours.groups(pair[1:])]
    took = dict(zip(groups, behind, strict=True))
    least = WORTH * sum(took.values())

    def may_join(one: Mask, other: Mask) -> bool:
        both = one | other
        if both.bit_count() > most_ops:
            return False
        now = sum(cycles for group, cycles in took.items() if group & both)
        return now - int(evaluator.floors.of(both, CYCLES)) > least

    return may_join
