"""The cheapest partition into weighed groups, with its proof: set partition as an integer programme.

    least sum of price(g) x(g),  x(g) in {0, 1},  so that for each operation the x(g) of the groups that hold it add up to one

Groups of a partition may still wait for each other in a circle. That is rare, so it is forbidden only where it occurs: circles
of a solution become rows, and the programme is solved again. Rows only take choices away, so every solution is a lower bound.
The first solution without a circle is the best partition.

A row forbids a circle of ``k`` groups and all circles like it. Two operations of group ``i`` make the circle: ``v(i)`` comes
somewhere behind ``u(i+1)`` of the next group. All groups that hold ``u(i)`` and ``v(i)``, and no such operation of another
group, wait in the same way. For each ``i`` at most one of them is chosen, for they share an operation. So of all together at
most ``k - 1`` are chosen. Rows of few groups say more, so circles of two groups, which may wait through operations of any other
groups, are preferred. Networks repeat themselves, so pairs of the same shapes that wait for each other are forbidden
everywhere.

HiGHS solves it. The relaxation is nearly integral, so the tree is small. Where HiGHS is stopped early, its bound still holds.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations, islice, product
from math import ceil

import highspy
import numpy as np

from compiler.fusion.legal import Mask, OpSets, bits_of, union
from compiler.search.shape import Shapes
from compiler.search.solver import solver
from compiler.tuned import CIRCLE_ROUNDS as ROUNDS
from compiler.tuned import CIRCLE_WAYS as WAYS
from compiler.tuned import NODES

_FEASIBLE = 1e-9
"""The most by which HiGHS, which computes in floating point, may miss a row."""
_TRUSTED = 1 - 1e-11
"""The part of a bound of HiGHS that is taken as proved. Prices are whole numbers far below 10^11."""


@dataclass(frozen=True)
class Certificate:
    """The result of the search. ``groups`` is None if no partition without circles was found.

    No partition into the weighed groups costs less than ``bound``.
    """

    groups: list[Mask] | None
    value: int
    bound: int

    @property
    def exact(self) -> bool:
        return self.groups is not None and self.value <= self.bound


def certify(sets: OpSets, prices: Mapping[Mask, int], shapes: Shapes | None = None, nodes: int = NODES) -> Certificate:
    """Finds the cheapest partition into the groups in ``prices``, among which is each operation alone.

    ``shapes``: the shapes of ``sets``, if they are at hand. ``nodes``: the most nodes of HiGHS' search tree.
    """
    masks = list(prices)
    places: dict[object, list[Mask]] = {}
    holders = _holders(sets, masks)
    model = _model(holders, masks, prices, nodes)
    bound = 0
    for _ in range(ROUNDS):
        model.run()
        info = model.getInfo()
        status = model.getModelStatus()
        if np.isfinite(info.mip_dual_bound):
            bound = max(bound, ceil(info.mip_dual_bound * _TRUSTED - _FEASIBLE))
        if info.primal_solution_status != highspy.SolutionStatus.kSolutionStatusFeasible:
            break
        chosen = [mask for mask, value in zip(masks, model.getSolution().col_value, strict=True) if value > 0.5]
        circles = list(_circles(sets, chosen))
        if not circles:
            value = sum(prices[mask] for mask in chosen)
            return Certificate(chosen, value, min(bound, value))
        if status != highspy.HighsModelStatus.kOptimal:
            break
        shapes = shapes or Shapes(sets)
        if not places:
            for mask in masks:
                places.setdefault(shapes.key(mask), []).append(mask)
        rows = {}
        for circle in circles:
            for other in _everywhere(sets, [places[shapes.key(mask)] for mask in circle], circle):
                rows[tuple(_alike(sets, masks, holders, other))] = len(other) - 1
        for alike, most in rows.items():
            model.addRow(-highspy.kHighsInf, most, len(alike), np.array(alike, np.int32), np.ones(len(alike)))
    return Certificate(None, 0, bound)


def _everywhere(sets: OpSets, places: Sequence[Sequence[Mask]], circle: Sequence[Mask]) -> Iterator[Sequence[Mask]]:
    """The circle and, if it is a pair, all other pairs of the same shapes that wait for each other.

    ``places``: for each group of the circle, all groups of its shape.
    """
    yield circle
    if len(circle) == 2:
        for first in places[0]:
            before = sets.before(first)
            yield from ((first, other) for other in places[1] if other & before and first & sets.before(other))


def _holders(sets: OpSets, masks: Sequence[Mask]) -> list[list[int]]:
    """For each operation, the numbers of the groups that hold it."""
    holders: list[list[int]] = [[] for _ in sets.ops]
    for number, mask in enumerate(masks):
        for n in bits_of(mask):
            holders[n].append(number)
    return holders


def _alike(sets: OpSets, masks: Sequence[Mask], holders: Sequence[Sequence[int]], circle: Sequence[Mask]) -> list[int]:
    """The numbers of all groups that can stand for a group of the circle.

    Each group of the circle waits for the next, and the last for the first. Where they wait through several pairs of
    operations, the pairs count that the most groups hold.
    """
    waits = [
        [(taker, maker) for taker in bits_of(group) for maker in bits_of(sets.ancestors[taker] & ahead)]
        for group, ahead in zip(circle, [*circle[1:], circle[0]], strict=True)
    ]  # fmt: skip
    found: list[int] = []
    for way in islice(product(*waits), WAYS):
        made = [way[-1][1], *(maker for _, maker in way[:-1])]
        pairs = [1 << taker | 1 << maker for (taker, _), maker in zip(way, made, strict=True)]
        every = union(pairs, (1 << len(pairs)) - 1)
        ways = zip(way, pairs, strict=True)
        here = [number for (taker, _), own in ways for number in holders[taker] if masks[number] & every == own]
        found = max(found, here, key=len)
    return found


def _model(
    holders: Sequence[Sequence[int]], masks: Sequence[Mask], prices: Mapping[Mask, int], nodes: int
) -> highspy.Highs:
    model = solver(
        mip_abs_gap=0.5, mip_max_nodes=nodes, mip_feasibility_tolerance=_FEASIBLE, primal_feasibility_tolerance=_FEASIBLE,
        dual_feasibility_tolerance=_FEASIBLE,
    )  # fmt: skip
    count = len(masks)
    columns = np.arange(count, dtype=np.int32)
    # All columns are added at once: a thousand calls for each of these take as long as the solution.
    model.addVars(count, np.zeros(count), np.ones(count))
    model.changeColsCost(count, columns, np.array([prices[mask] for mask in masks], np.float64))
    model.changeColsIntegrality(count, columns, np.full(count, highspy.HighsVarType.kInteger))
    for row in holders:
        model.addRow(1.0, 1.0, len(row), np.array(row, np.int32), np.ones(len(row)))
    return model


def _circles(sets: OpSets, groups: Sequence[Mask]) -> Iterator[list[Mask]]:
    """Finds circles of groups: each group waits for the next, directly or through other groups. Pairs are preferred.

    No two circles share a group. If there is any circle, at least one is found.
    """
    waiting = set(groups).difference(sets.that_run(groups))
    before = {group: sets.before(group) for group in waiting}

    def drop_others() -> None:
        """Drops groups that wait for no waiting group, and groups that no waiting group waits for."""
        while ready := {group for group in waiting if not any(other & before[group] for other in waiting)}:
            waiting.difference_update(ready)
        while ends := {group for group in waiting if not any(group & before[other] for other in waiting)}:
            waiting.difference_update(ends)

    drop_others()
    pairs = [pair for pair in combinations(sorted(waiting), 2) if pair[1] & before[pair[0]] and pair[0] & before[pair[1]]]
    for pair in pairs:
        if waiting.issuperset(pair):
            waiting -= {*pair}
            yield [*pair]
    while waiting and not pairs:
        # Each group that still waits, waits for another one that does. So going back from one to the next ends in a circle.
        trail = [min(waiting)]
        while (ahead := min(group for group in waiting if group & before[trail[-1]])) not in trail:
            trail.append(ahead)
        circle = trail[trail.index(ahead) :]
        yield circle
        waiting -= {*circle}
        drop_others()
