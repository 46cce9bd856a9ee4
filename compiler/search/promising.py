"""Groups that promise to make a partition cheaper, planned in the order of their promise, as columns of a linear programme.

Groups are grown by one operation at a time, as in ``fusion/grow.py``, but not level by level. Each group has a hope, the cost
that it may have: its own least cost (``Least``), plus the least amount by which a group that it extends exceeds the least cost
of that group. Two steps take turns:

1. The relaxation of the set partition over the planned groups gives each operation a worth, its dual.
2. Of the groups whose hope is below the worth of their members, or little above it (``SLACK``), those with the greatest
   difference are planned: ``AT_ONCE`` of different shapes, and all groups of a known shape. Groups that extend them join those
   that wait.

This ends when no group promises anything, or when the effort is used up: as many shapes as asked for, each at ``PLACES`` places
in the mean. A graph that repeats itself everywhere, such as a sum of hundreds of maps, has each shape at as many places as
operations; the limit of places keeps the work in proportion to them.

The hope is no bound: a group that is left out may be worth its price after all. Only where no group is left out
(``Grown.complete``) the best partition into these groups is proved.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import inf

import numpy as np
from numpy.typing import NDArray

from compiler.fusion.grow import Grown, extensions, fairly
from compiler.fusion.legal import Mask, bits_of
from compiler.search.cost import Evaluator, Objective
from compiler.search.least_cost import Least
from compiler.search.partition import price_or_none
from compiler.search.relaxation import Relaxation
from compiler.tuned import ANYWAY, PLACES, ROUNDS, SLACK
from compiler.tuned import MOST_PROMISING_OPS as MOST_OPS
from compiler.tuned import SHAPES_AT_ONCE as AT_ONCE

Reals = NDArray[np.float64]


def promising(evaluator: Evaluator, objective: Objective, most: int, most_ops: int = MOST_OPS) -> Grown:
    """Plans groups of one operation, all groups that the evaluator knows, and those of up to ``most`` more shapes."""
    waiting = _Waiting(evaluator, objective, most_ops)
    alone = [1 << n for n in range(len(evaluator.sets.ops))]
    waiting.plan([*dict.fromkeys([*alone, *evaluator.weighed(objective)])])
    wanted = most
    most_groups = PLACES * max(most, len(alone)) + len(waiting.prices)
    at_once = max(AT_ONCE, most // ROUNDS)
    most += len(waiting.shapes)
    while (left := most - len(waiting.shapes)) > 0 and (room := most_groups - len(waiting.prices)) > 0:
        chosen = waiting.next(min(at_once, left), room, surely=len(waiting.prices) < ANYWAY)
        if not chosen:
            break
        evaluator.told(f"search: groups that promise most, {wanted - left} of at most {wanted}")
        waiting.plan(chosen)
    return Grown([*waiting.prices], waiting.left, len(waiting.longer), most_ops)


class _Waiting:
    """The groups that extend planned groups, and the cost that each of them is hoped to have."""

    def __init__(self, evaluator: Evaluator, objective: Objective, most_ops: int) -> None:
        self._evaluator, self._objective, self._most_ops = evaluator, objective, most_ops
        self._least = evaluator.once(Least)
        self._relaxation = Relaxation(len(evaluator.sets.ops))
        self.prices: dict[Mask, int] = {}
        self.shapes: set[object] = set()
        """The shapes of groups that were asked about, even if the evaluator knew their costs from an earlier compilation."""
        self.longer: set[Mask] = set()
        """The groups of one operation more than allowed."""
        self._misfits: list[Mask] = []
        self._asked: set[Mask] = set()
        self._places: dict[Mask, int] = {}
        self._masks: list[Mask] = []
        self._members: NDArray[np.int32] = np.empty((0, most_ops), np.int32)
        """The operations of each group, one group a row. It is filled up with a number that no operation has, worth nothing."""
        self._floors: Reals = np.empty(0)
        self._beyond: Reals = np.empty(0)
        """For each group: the least amount by which a group that it extends exceeds its own floor."""
        self._open: NDArray[np.bool_] = np.empty(0, bool)

    @property
    def left(self) -> int:
        """The number of groups that were found and not planned."""
        return int(self._open.sum())

    def next(self, shapes: int, room: int, surely: bool) -> list[Mask]:
        """The groups to plan next: promising groups of at most ``shapes`` new shapes, and all of known shapes.

        If these are more than ``room``, those are taken that promise most at each operation. ``surely``: groups that promise
        nothing are taken, too.
        """
        value, worth = self._relaxation.solve()
        slack = inf if surely else SLACK * value / len(worth)
        promises = np.append(worth, 0.0)[self._members].sum(axis=1) - self._floors - self._beyond
        hopeful = np.flatnonzero(self._open & (promises > -slack))
        chosen, new = dict[Mask, float](), set[object]()
        for number in hopeful[np.argsort(-promises[hopeful], kind="stable")].tolist():
            mask = self._masks[number]
            key = self._evaluator.shapes.key(mask)
            if key not in new and key not in self.shapes:
                if len(new) == shapes:
                    continue
                if self._holds_misfit(mask):
                    self._open[number] = False
                    continue
                new.add(key)
            chosen[mask] = promises[number]
        return fairly(chosen, room) if len(chosen) > room else [*chosen]

    def plan(self, masks: Sequence[Mask]) -> None:
        evaluator = self._evaluator
        evaluator.plan_all(masks, self._objective)
        found: dict[Mask, float] = {}
        for mask in masks:
            self._asked.add(mask)
            self.shapes.add(evaluator.shapes.key(mask))
            if mask in self._places:
                self._open[self._places[mask]] = False
            price = price_or_none(evaluator, self._objective, mask)
            if price is None:
                self._misfits.append(mask)
                continue
            self.prices[mask] = price
            self._relaxation.add(mask, price)
            beyond = price - self._floor(mask)
            for larger in extensions(evaluator.sets, evaluator.sets.near, mask):
                if larger.bit_count() > self._most_ops:
                    self.longer.add(larger)
                elif larger not in self._asked:
                    found[larger] = min(found.get(larger, inf), beyond)
        self._hope(found)

    def _hope(self, found: dict[Mask, float]) -> None:
        new = [mask for mask in found if mask not in self._places and self._least.may_fit(mask)]
        self._places |= {mask: number for number, mask in enumerate(new, len(self._masks))}
        self._masks += new
        nobody = len(self._evaluator.sets.ops)
        rows = [[*bits_of(mask), *[nobody] * (self._most_ops - mask.bit_count())] for mask in new]
        self._members = np.concatenate([self._members, np.array(rows, np.int32).reshape(len(new), self._most_ops)])
        self._floors = np.append(self._floors, [self._floor(mask) for mask in new])
        self._beyond = np.append(self._beyond, np.full(len(new), inf))
        self._open = np.append(self._open, np.ones(len(new), bool))
        for mask, beyond in found.items():
            if mask in self._places:
                place = self._places[mask]
                self._beyond[place] = min(self._beyond[place], beyond)

    def _floor(self, mask: Mask) -> int:
        return self._least.of(mask, self._objective)

    def _holds_misfit(self, mask: Mask) -> bool:
        """Whether the group extends one that fits at no tiling, and only by operations that do not allow column tiles."""
        narrow = self._evaluator.narrow
        return any(mask & other == other and mask & narrow == other & narrow for other in self._misfits)
