"""The proof of an optimum, on any graph: the choice as an integer programme, solved by HiGHS.

    least sum of c_n[i] x_n[i] + sum of M_mn[i, j] y_mn[i, j]

with ``x`` in {0, 1}, one of each node 1, and ``y`` between 0 and 1, whose rows add up to ``x_m`` and whose columns to ``x_n``.
What is infinite has no variable. Without the condition of whole numbers the programme is exact on trees already (the local
polytope), so on the graphs of programs the tree of HiGHS stays small; where it is stopped early, the bound still holds.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil

import highspy
import numpy as np

from compiler.papers.neocpu.problem import Problem, Solution, infeasible
from compiler.search.solver import solver

NODES = 2000
"""The most nodes of HiGHS' tree."""
_ROUNDING = 1e-6
"""The tolerance of a bound of whole costs in floating point."""


@dataclass(frozen=True)
class Proof:
    """The solution and the bound. ``solution`` is None if none was found before the stop; none costs less than ``bound``."""

    solution: Solution | None
    bound: float


def prove(problem: Problem, nodes: int = NODES) -> Proof:
    """Solves a problem of whole costs, and proves a bound."""
    model = solver(mip_abs_gap=0.5, mip_max_nodes=nodes)
    base = sum(float(costs[np.isfinite(costs)].min(initial=0.0)) for costs in problem.nodes)
    places: list[dict[int, int]] = []
    rows: list[tuple[float, list[int], list[float]]] = []
    for costs in problem.nodes:
        least = costs[np.isfinite(costs)].min(initial=0.0)
        place = {int(i): _variable(model, float(costs[i] - least), whole=True) for i in np.flatnonzero(np.isfinite(costs))}
        if not place:
            raise infeasible()
        rows.append((1.0, [*place.values()], [1.0] * len(place)))
        places.append(place)
    for (first, second), costs in problem.edges.items():
        pairs = [(i, j) for i in places[first] for j in places[second] if np.isfinite(costs[i, j])]
        least = float(min((costs[pair] for pair in pairs), default=0.0))
        base += least
        joint = {pair: _variable(model, float(costs[pair] - least), whole=False) for pair in pairs}
        for end, place in enumerate((places[first], places[second])):
            for choice, variable in place.items():
                own = [joint[pair] for pair in pairs if pair[end] == choice]
                rows.append((0.0, [*own, variable], [*[1.0] * len(own), -1.0]))
    for value, columns, factors in rows:
        model.addRow(value, value, len(columns), np.array(columns, np.int32), np.array(factors))
    model.run()
    if model.getModelStatus() == highspy.HighsModelStatus.kInfeasible:
        raise infeasible()
    info = model.getInfo()
    bound = base + ceil(info.mip_dual_bound - _ROUNDING) if np.isfinite(info.mip_dual_bound) else base
    if info.primal_solution_status != highspy.SolutionStatus.kSolutionStatusFeasible:
        return Proof(None, bound)
    values = model.getSolution().col_value
    choices = tuple(max(place, key=lambda choice: values[place[choice]]) for place in places)
    cost = problem.cost(choices)
    return Proof(Solution(choices, cost, cost <= bound), min(bound, cost))


def _variable(model: highspy.Highs, cost: float, whole: bool) -> int:
    model.addVar(0.0, 1.0)
    number: int = model.getNumCol() - 1
    model.changeColCost(number, cost)
    if whole:
        model.changeColIntegrality(number, highspy.HighsVarType.kInteger)
    return number
