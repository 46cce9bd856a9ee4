"""The order of least memory as an integer programme, as in memory-aware scheduling (its equations 1 to 10).

    least M    X(v, t) in {0, 1}: task v has run by the end of step t;  U(u, t) >= 0: use u is in use in step t

    sum of X(v, t) over v = t + 1                   one task in each step (1, 2)
    X(v, t) <= X(v, t + 1)                          what has run has run
    X(v, t) <= X(w, t - 1)                          w comes before v (3)
    U(u, t) >= X(v, t) - X(w, t - 1)                v and w touch u: it is in use from the first to the last (4, 5)
    sum of size(u) U(u, t) + extra <= M             (6)

With ``pruned`` variables are constants where the graph says so (7 to 10): no task runs before all of its ancestors have, and
none later than leaves steps for its descendants. HiGHS solves it, and its bound holds wherever it is stopped.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil

import highspy
import numpy as np

from compiler.memory.exact_order import Order
from compiler.memory.fuse import fuse
from compiler.memory.tasks import Tasks, members
from compiler.search.solver import solver

SECONDS = 30.0
"""The time limit of the paper, which a compilation uses, too."""
_TRUSTED = 1e-6
"""The relative error in HiGHS' bounds that is allowed; it computes in floating point."""


@dataclass(frozen=True)
class Solved:
    """The order that was found, and the number of variables that are no constants."""

    order: Order
    variables: int


def solve(tasks: Tasks, known: Sequence[int], *, pruned: bool = True, seconds: float = 10.0) -> Solved:
    """Solves the programme from the order ``known``, which stays if no better one is found in the time."""
    programme = _Programme(tasks, pruned)
    return Solved(programme.run(tuple(known), seconds), programme.variables)


def variables(tasks: Tasks, pruned: bool) -> int:
    """The number of variables of the programme, without solving it."""
    return _Programme(tasks, pruned).variables


def order(tasks: Tasks, known: Sequence[int]) -> tuple[int, ...]:
    """The order of ``compile --order programme``: iterative fusion, then the programme of the fused tasks."""
    fused = fuse(tasks)
    found = fused.expanded(solve(fused.tasks, fused.tasks.topological, seconds=SECONDS).order.tasks)
    return found if tasks.peak(found) < tasks.peak(known) else tuple(known)


class _Programme:
    def __init__(self, tasks: Tasks, pruned: bool) -> None:
        self._tasks = tasks
        self.variables = 0
        self._bounds: list[tuple[float, float]] = []
        self._rows: list[tuple[float, float, dict[int, float]]] = []
        # Bytes are counted in units of the largest amount: HiGHS computes best with numbers near 1.
        self._unit = max([1, *(use.size for use in tasks.uses), *map(abs, tasks.extra)])
        self._peak = self._variable(0.0, highspy.kHighsInf)
        count = len(tasks)
        self._run: list[list[int | float]] = []
        for task in range(count):
            first = tasks.ancestors[task].bit_count() if pruned else 0
            last = count - 1 - tasks.descendants[task].bit_count() if pruned else count - 1
            self._run.append(
                [0.0 if t < first else 1.0 if t >= last else self._variable(0.0, 1.0) for t in range(count)]
            )
        self._integers = len(self._bounds)
        for step in range(count):
            self._row([(self._at(task, step), 1.0) for task in range(count)], step + 1.0, step + 1.0)
            for task in range(count):
                self._row([(self._at(task, step), 1.0), (self._at(task, step - 1), -1.0)], 0.0)
                for other in members(tasks.before[task]):
                    self._row([(self._at(other, step - 1), 1.0), (self._at(task, step), -1.0)], 0.0)
            self._memory(step)
        self.variables = len(self._bounds)

    def _memory(self, step: int) -> None:
        tasks = self._tasks
        total: list[tuple[int | float, float]] = [(self._peak, 1.0)]
        for use in tasks.uses:
            begun = [1.0] if use.given else [self._at(task, step) for task in members(use.tasks)]
            ended = [0.0] if use.outlives else [self._at(task, step - 1) for task in members(use.tasks)]
            if max(1.0 if _is_index(b) else b for b in begun) == 0.0 or all(e == 1.0 and not _is_index(e) for e in ended):
                continue
            if 1.0 in [b for b in begun if not _is_index(b)] and 0.0 in [e for e in ended if not _is_index(e)]:
                total.append((1.0, -use.size / self._unit))
                continue
            used = self._variable(0.0, 1.0)
            for one in begun:
                for other in ended:
                    self._row([(used, 1.0), (one, -1.0), (other, 1.0)], 0.0)
            total.append((used, -use.size / self._unit))
        for task in range(len(tasks)):
            if tasks.extra[task]:
                extra = tasks.extra[task] / self._unit
                total += [(self._at(task, step), -extra), (self._at(task, step - 1), extra)]
        self._row(total, 0.0)

    def _variable(self, low: float, high: float) -> int:
        self._bounds.append((low, high))
        return len(self._bounds) - 1

    def _at(self, task: int, step: int) -> int | float:
        return self._run[task][step] if step >= 0 else 0.0

    def _row(self, terms: Sequence[tuple[int | float, float]], low: float, high: float = highspy.kHighsInf) -> None:
        """Adds a constraint on a sum. A term is a variable, or a constant as a float, and its factor."""
        sums: dict[int, float] = {}
        constant = 0.0
        for what, factor in terms:
            if _is_index(what):
                sums[int(what)] = sums.get(int(what), 0.0) + factor
            else:
                constant += what * factor
        if sums:
            self._rows.append((low - constant, high - constant, sums))

    def run(self, known: tuple[int, ...], seconds: float) -> Order:
        tasks = self._tasks
        peak = tasks.peak(known)
        if self._integers == 1:
            # Only one order is possible.
            return Order(known, peak, peak)
        model = self._model(seconds)
        solution = highspy.HighsSolution()
        solution.col_value = self._values(known)
        model.setSolution(solution)
        model.run()
        info = model.getInfo()
        bound = 0
        if np.isfinite(info.mip_dual_bound):
            bound = max(0, ceil(info.mip_dual_bound * self._unit * (1 - _TRUSTED) - _TRUSTED))
        if info.primal_solution_status == highspy.SolutionStatus.kSolutionStatusFeasible:
            values = model.getSolution().col_value
            ends = [sum([float(values[int(x)]) if _is_index(x) else x for x in row]) for row in self._run]
            found = tuple(sorted(range(len(tasks)), key=lambda task: -ends[task]))
            if tasks.peak(found) < peak:
                known, peak = found, tasks.peak(found)
        return Order(known, peak, min(bound, peak))

    def _model(self, seconds: float) -> highspy.Highs:
        model = solver(time_limit=seconds)
        for number, (low, high) in enumerate(self._bounds):
            model.addVar(low, high)
            if 0 < number < self._integers:
                model.changeColIntegrality(number, highspy.HighsVarType.kInteger)
        model.changeColCost(self._peak, 1.0)
        for low, high, sums in self._rows:
            index = np.array([*sums], np.int32)
            model.addRow(low, high, len(sums), index, np.array([*sums.values()]))
        return model

    def _values(self, order: tuple[int, ...]) -> list[float]:
        """The values of the variables for a known order; HiGHS completes those of uses and the peak."""
        values = [highspy.kHighsUndefined] * len(self._bounds)
        place = {task: step for step, task in enumerate(order)}
        for task, row in enumerate(self._run):
            for step, what in enumerate(row):
                if _is_index(what):
                    values[int(what)] = float(step >= place[task])
        return values


def _is_index(what: int | float) -> bool:
    """Whether a term is a variable, as an integer; constants are floats."""
    return isinstance(what, int)
