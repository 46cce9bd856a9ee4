"""The cheapest partition into weighed groups, with its proof: set partition as an integer programme.

    least sum of price(g) x(g),  x(g) in {0, 1},  so that for each operation the x(g) of the groups that hold it add up to one

Groups of a partition may still wait for each other in a circle. That is rare, so it is forbidden only where it occurs: the
circles in a solution become rows (of ``k`` groups in a circle at most ``k - 1`` may be chosen), and it is solved again. Every
solution is a lower bound, for rows only take choices away; the first without a circle is the best partition.

HiGHS solves it: the relaxation is nearly integral, so the tree is small, and it works the same on every machine. Where it is
stopped early, its bound still holds.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import ceil

import highspy
import numpy as np

from compiler.fusion.legal import Mask, OpSets, bits_of, union
from compiler.solver import solver

NODES = 2000
"""Of HiGHS' tree, in one solution: more than any network of the tables needed."""
ROUNDS = 50
"""Solutions with circles before it is given up."""
_FEASIBLE = 1e-9
"""By which a row may be off in HiGHS, whose arithmetic is in floating point."""
_TRUSTED = 1 - 1e-11
"""Part of its bounds that is taken as proved: prices are whole numbers far below 10^11."""


@dataclass(frozen=True)
class Certificate:
    """``groups`` is None if no partition without circles was found; no partition into the groups costs less than ``bound``."""

    groups: list[Mask] | None
    value: int
    bound: int

    @property
    def exact(self) -> bool:
        return self.groups is not None and self.value <= self.bound


def certify(sets: OpSets, prices: Mapping[Mask, int], nodes: int = NODES) -> Certificate:
    """``prices`` hold each operation alone, too."""
    masks = list(prices)
    model = _model(sets, masks, prices, nodes)
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
        place = {mask: n for n, mask in enumerate(masks)}
        for circle in circles:
            index = np.array([place[mask] for mask in circle], np.int32)
            model.addRow(-highspy.kHighsInf, len(circle) - 1, len(circle), index, np.ones(len(circle)))
    return Certificate(None, 0, bound)


def _model(sets: OpSets, masks: Sequence[Mask], prices: Mapping[Mask, int], nodes: int) -> highspy.Highs:
    model = solver(
        mip_abs_gap=0.5, mip_max_nodes=nodes, mip_feasibility_tolerance=_FEASIBLE, primal_feasibility_tolerance=_FEASIBLE,
        dual_feasibility_tolerance=_FEASIBLE,
    )  # fmt: skip
    count = len(masks)
    columns = np.arange(count, dtype=np.int32)
    # All at once: a thousand calls for each of these take as long as the solution.
    model.addVars(count, np.zeros(count), np.ones(count))
    model.changeColsCost(count, columns, np.array([prices[mask] for mask in masks], np.float64))
    model.changeColsIntegrality(count, columns, np.full(count, highspy.HighsVarType.kInteger))
    rows: list[list[int]] = [[] for _ in sets.ops]
    for number, mask in enumerate(masks):
        for n in bits_of(mask):
            rows[n].append(number)
    for row in rows:
        model.addRow(1.0, 1.0, len(row), np.array(row, np.int32), np.ones(len(row)))
    return model


def _circles(sets: OpSets, groups: Sequence[Mask]) -> Iterator[list[Mask]]:
    """Circles of groups that wait for each other; no two of them share a group, and none is left if none is found."""
    before = {group: union(sets.needs, group) & ~group for group in groups}
    waiting = set(groups)
    while ready := {group for group in waiting if not any(other & before[group] for other in waiting)}:
        waiting -= ready
    while waiting:
        # Whoever still waits, waits for somebody who does: going back from one to the next ends in a circle.
        trail = [min(waiting)]
        while (ahead := min(group for group in waiting if group & before[trail[-1]])) not in trail:
            trail.append(ahead)
        circle = trail[trail.index(ahead) :]
        yield circle
        waiting -= set(circle)
        while ends := {group for group in waiting if not any(other & before[group] for other in waiting)}:
            waiting -= ends
