"""A choice at each node of a graph, with a cost for each choice and for each pair of choices at the ends of an edge.

A partitioned boolean quadratic problem (PBQP; Scholz and Eckstein 2002): with one vector ``c`` for each node and one matrix
``M`` for each edge, choose ``x`` so that

    sum over nodes n of c_n[x_n]  +  sum over edges (m, n) of M_mn[x_m, x_n]

is least. An infinite cost says that something cannot be. Costs are whole numbers below 2^53, which floats hold exactly.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import inf

import numpy as np
from numpy.typing import NDArray

from isa.errors import TilewrightError

Costs = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Problem:
    """A problem. ``nodes`` has a vector for each node.

    ``edges`` has a matrix by the two ends of an edge, the smaller number first; rows are choices of that end.
    """

    nodes: tuple[Costs, ...]
    edges: Mapping[tuple[int, int], Costs]

    def __post_init__(self) -> None:
        for number, costs in enumerate(self.nodes):
            if costs.ndim != 1 or not len(costs):
                raise TilewrightError(f"node {number}: costs of shape {costs.shape}; expected a vector of at least one choice")
            _check_costs(f"node {number}", costs)
        for (first, second), costs in self.edges.items():
            if not 0 <= first < second < len(self.nodes):
                what = f"ends {first} and {second}; expected two of {len(self.nodes)} nodes, the smaller one first"
                raise TilewrightError(f"edge: {what}")
            shape = len(self.nodes[first]), len(self.nodes[second])
            if costs.shape != shape:
                raise TilewrightError(
                    f"edge {first}-{second}: costs of shape {costs.shape}; expected {shape}, the choices of its ends"
                )
            _check_costs(f"edge {first}-{second}", costs)

    def cost(self, choices: Sequence[int]) -> float:
        """The cost of a choice at each node."""
        alone = sum(float(costs[choice]) for costs, choice in zip(self.nodes, choices, strict=True))
        return alone + sum(float(costs[choices[m], choices[n]]) for (m, n), costs in self.edges.items())


@dataclass(frozen=True)
class Solution:
    """A choice at each node; if it is ``exact``, no other costs less."""

    choices: tuple[int, ...]
    cost: float
    exact: bool


def infeasible() -> TilewrightError:
    return TilewrightError("choice: whatever is chosen, some cost is infinite; allow more choices at a node, or more pairs")


def _check_costs(name: str, costs: Costs) -> None:
    wrong = costs[np.isnan(costs) | (costs == -inf)]
    if wrong.size:
        raise TilewrightError(f"{name}: cost {wrong[0]}; expected a number, or inf for what cannot be")
