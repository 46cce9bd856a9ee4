"""The cheapest of all partitions, though most groups are never planned: prices are asked for only where they could matter.

Legal groups are found in no time; planning them is dear. What a group costs at least (``Least``) is cheap: its parameters, the
maps that it reads and leaves, and the beats of its units; a little less cheap what it must load again (``reloads.py``). So
groups are planned as columns of a linear programme are generated:

1. The relaxation of the set partition (``certify``) over the groups that are planned gives each operation a worth, its dual.
2. Groups that might cost less than their members are worth, even with what they load again, are planned, those that might save
   most first, and as many small ones; again from 1.
3. When there are none, no group of any size betters the relaxation: its value bounds all partitions. Groups that could still be
   in a partition better than the best one known are planned too, and the set partition over all of them is solved.

Before that, too, there is a bound: worths that are made so small that no group costs less than its members are worth add up
to what every partition costs at least (Farley's bound of column generation). It is what is left where too many groups would
have to be planned.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from math import ceil, inf

import numpy as np
from numpy.typing import NDArray

from compiler.fusion.grow import extensions
from compiler.fusion.legal import Mask, OpSets
from compiler.planning.objective import Objective
from compiler.search.certify import Certificate, certify
from compiler.search.cost import Evaluator
from compiler.search.least import Least
from compiler.search.partition import price_or_none
from compiler.search.relaxation import Relaxation
from compiler.search.words import Reals

MOST_LISTED = 200_000
"""Legal groups of a graph up to which they are listed."""
MOST_PLANNED = 30_000
"""Groups that are planned for a proof, until there is but a bound: some minutes."""
AT_ONCE = 100
"""Groups that are planned before the relaxation is solved again."""
LOOKED_AT = 8
"""So many times as many are looked at more closely at once."""
SLACK = 1e-6
"""By which part of the value a reduced cost may be off."""
Indices = NDArray[np.int64]


def all_legal(
    sets: OpSets, joins: Sequence[Mask], may_fit: Callable[[Mask], bool], most: int = MOST_LISTED
) -> list[Mask] | None:
    """Groups of any size, the small ones first; None: there are more than so many.

    ``may_fit``: if not, then no group that holds this one fits.
    """
    found: list[Mask] = []
    level = {1 << number for number in range(len(sets.ops))}
    while level:
        found += sorted(level)
        larger: set[Mask] = set()
        for group in level:
            larger.update(extensions(sets, joins, group))
            if len(found) + len(larger) > 4 * most:
                return None
        level = {group for group in larger if may_fit(group)}
        if len(found) + len(level) > most:
            return None
    return found


def _part(costs: Reals, worths: Reals) -> float:
    """By which worths are to be multiplied, so that none is above what it costs at least."""
    counts = worths > 0
    return float(min(1.0, (costs[counts] / worths[counts]).min(initial=1.0)))


def least_of_all(evaluator: Evaluator, objective: Objective, known: Iterable[Mask]) -> Certificate | None:
    """None: there are too many legal groups to list them. ``known``: as below."""
    listed = all_legal(evaluator.sets, evaluator.sets.joins, Least(evaluator).may_fit)
    return None if listed is None else cheapest_of_all(evaluator, objective, listed, sorted(known))


class _Open:
    """Groups that may still have to be planned, and what they cost at least."""

    def __init__(self, evaluator: Evaluator, objective: Objective, masks: Sequence[Mask]) -> None:
        self._least, self._objective, self.masks = Least(evaluator), objective, masks
        self.place = {mask: number for number, mask in enumerate(masks)}
        self.members = np.array([[mask >> n & 1 for n in range(len(evaluator.sets.ops))] for mask in masks], np.float64)
        self._sizes = self.members.sum(axis=1)
        # What fits at no tiling fits with more operations neither, but for those that bring tiles of columns.
        self._narrow = np.array([(mask & evaluator.narrow).bit_count() for mask in masks])
        self.floor = np.array([self._least.of(mask, objective) for mask in masks], np.float64)
        self._looked, self.unasked = np.zeros(len(masks), bool), np.ones(len(masks), bool)

    def look(self, numbers: Indices) -> None:
        """What these load again is counted, too: that takes longer, but much less than to plan them."""
        numbers = numbers[~self._looked[numbers]]
        self._looked[numbers] = True
        for number, again in zip(numbers, self._least.reloads.of(self.members[numbers] > 0), strict=True):
            self.floor[number] = self._least.of(self.masks[number], self._objective, int(again)) if again < inf else inf
        self.unasked[numbers[np.isinf(self.floor[numbers])]] = False

    def hopeful(self, worths: Reals, slack: float) -> Indices:
        """All that might cost less than they are worth by more than ``slack``."""
        return np.flatnonzero(self.unasked & (worths - self.floor > slack))

    def next(self, worths: Reals, slack: float) -> Indices:
        """Those to be planned next, some of them small: they tell which of the others fit neither."""
        while True:
            hopeful = self.hopeful(worths, slack)
            saving = (worths - self.floor)[hopeful]
            dearest, smallest = np.argsort(-saving, kind="stable"), np.lexsort((-saving, self._sizes[hopeful]))
            order = hopeful[np.stack([smallest, dearest], axis=1).reshape(-1)]
            if self._looked[order[:AT_ONCE]].all():
                return np.array([*dict.fromkeys(order[:AT_ONCE].tolist())], np.int64)
            self.look(np.unique(order[: LOOKED_AT * AT_ONCE]))

    def does_not_fit(self, number: int) -> None:
        own = np.flatnonzero(self.members[number])
        self.unasked[self.members[:, own].all(axis=1) & (self._narrow == self._narrow[number])] = False


def cheapest_of_all(
    evaluator: Evaluator, objective: Objective, groups: Sequence[Mask], known: Sequence[Mask], most: int = MOST_PLANNED
) -> Certificate:
    """``groups``: all that are legal; ``known``: some that are planned anyway, each operation alone among them. When ``most``
    are planned, the cheapest partition into those is taken, with the bound that there is by then."""
    left = _Open(evaluator, objective, sorted(set(groups) | set(known)))
    prices: dict[Mask, int] = {}
    relaxation = Relaxation(len(evaluator.sets.ops))

    def ask(numbers: Iterable[int]) -> None:
        wanted = [number for number in numbers if left.unasked[number]]
        evaluator.plan_all([left.masks[number] for number in wanted], objective)
        for number in wanted:
            if not left.unasked[number]:
                continue
            left.unasked[number] = False
            price = price_or_none(evaluator, objective, left.masks[number])
            if price is not None:
                prices[left.masks[number]] = price
                relaxation.add(left.masks[number], price)
            else:
                left.does_not_fit(number)

    ask(left.place[mask] for mask in known)
    first = 0
    while True:
        value, worth = relaxation.solve()
        worths = left.members @ worth
        wanted = left.next(worths, SLACK * value)
        if not len(wanted):
            break
        if len(prices) >= most:
            left.look(left.hopeful(worths, SLACK * value))
            bound = ceil(value * _part(left.floor[left.unasked], worths[left.unasked]) * (1 - SLACK))
            found = certify(evaluator.sets, prices, evaluator.shapes)
            return replace(found, bound=bound if found.groups is None else min(bound, found.value))
        hopeful = len(left.hopeful(worths, SLACK * value))
        first = first or hopeful
        evaluator.told(f"search: proof, {hopeful} groups may still cost less", max(0.0, 1 - hopeful / first))
        ask(wanted.tolist())
    found = certify(evaluator.sets, prices, evaluator.shapes)
    if found.groups is None:
        return found
    # A group that is dearer than its worth by the gap would make any partition dearer than the one that is known.
    gap = found.value - value + SLACK * value
    left.look(left.hopeful(worths, -gap))
    near = left.hopeful(worths, -gap)
    if not len(near):
        return found
    for done in range(0, len(near), AT_ONCE):
        evaluator.told(f"search: groups near the best, {done} of {len(near)}", done / len(near))
        ask(near[done : done + AT_ONCE].tolist())
    dearer = {mask: price - float(worths[left.place[mask]]) for mask, price in prices.items()}
    return certify(evaluator.sets, {mask: price for mask, price in prices.items() if dearer[mask] <= gap}, evaluator.shapes)
