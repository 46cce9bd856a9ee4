"""PBQP by reduction: exact where the graph is thin, quick everywhere (Scholz and Eckstein 2002; Hames and Scholz 2006).

Nodes are taken out of the graph one by one, those with the fewest neighbours first:

    R0   no neighbour     its cheapest choice
    RI   one              its least cost is added to each choice of the neighbour
    RII  two              its least cost is added to each pair of choices of the neighbours: an edge between them
    RN   three or more    its choice is made at once, by its cost with the best choice of each neighbour alone

The first three lose nothing, so a problem that they solve alone has the optimal solution: chains, trees, and series-parallel
graphs. RN is a guess. If guesses lead to infinite costs, the last one is taken back, so a choice is found if there is one. An
edge whose matrix is a sum of a row and a column is removed: its costs go to its ends (Eckstein's simplification).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from math import inf

import numpy as np

from compiler.papers.neocpu.problem import Costs, Problem, Solution, infeasible


def solve(problem: Problem) -> Solution:
    """The solution; it is ``exact`` if no RN was needed."""
    graph = _Graph.of(problem)
    guessed = graph.reduce() > 0
    found = _choices(graph)
    if found is None:
        raise infeasible()
    choices = tuple(found[n] for n in range(len(problem.nodes)))
    return Solution(choices, problem.cost(choices), not guessed)


@dataclass
class _Graph:
    """The nodes and edges that are left, and those that were taken out."""

    costs: dict[int, Costs]
    edges: dict[int, dict[int, Costs]]
    """The costs of the edges of each node, by neighbour; rows are the node's own choices."""
    taken: list[tuple[int, Costs, dict[int, Costs]]]

    @classmethod
    def of(cls, problem: Problem) -> _Graph:
        graph = cls({n: costs.copy() for n, costs in enumerate(problem.nodes)}, {n: {} for n in range(len(problem.nodes))}, [])
        for (first, second), costs in problem.edges.items():
            graph.add(first, second, costs)
        return graph

    def copy(self) -> _Graph:
        """A copy that shares the matrices, which are never changed, only replaced."""
        return _Graph(dict(self.costs), {n: dict(edges) for n, edges in self.edges.items()}, list(self.taken))

    def add(self, first: int, second: int, costs: Costs) -> None:
        """Adds costs to the edge of two nodes, and those that belong to one of its ends to that node."""
        if second in self.edges[first]:
            costs = self.edges[first][second] + costs
        rows, costs = _without_rows(costs)
        columns, turned = _without_rows(costs.T)
        self.costs[first] = self.costs[first] + rows
        self.costs[second] = self.costs[second] + columns
        if turned.any():
            self.edges[first][second], self.edges[second][first] = turned.T, turned
        else:
            self.edges[first].pop(second, None)
            self.edges[second].pop(first, None)

    def reduce(self) -> int:
        """Applies R0, RI and RII as long as possible, and returns how many nodes are left."""
        while self.edges:
            node = min(self.edges, key=lambda n: len(self.edges[n]))
            if len(self.edges[node]) > 2:
                break
            own, edges = self._take(node)
            match [*edges.items()]:
                case [(other, costs)]:
                    self.costs[other] = self.costs[other] + (own[:, None] + costs).min(axis=0)
                case [(one, to_one), (other, to_other)]:
                    pairs = own[:, None, None] + to_one[:, :, None] + to_other[:, None, :]
                    self.add(one, other, pairs.min(axis=0))
        return len(self.edges)

    def guesses(self) -> Iterator[_Graph]:
        """Applies RN to the node with the most neighbours: the graph after each of its choices, the most promising first."""
        node = max(self.edges, key=lambda n: len(self.edges[n]))
        promise = self.costs[node].copy()
        for other, costs in self.edges[node].items():
            promise += (costs + self.costs[other]).min(axis=1)
        for choice in np.argsort(promise, kind="stable"):
            if promise[choice] == inf:
                return
            graph = self.copy()
            own, edges = graph._take(node)
            for other, costs in edges.items():
                graph.costs[other] = graph.costs[other] + costs[choice]
            only = np.full_like(own, inf)
            only[choice] = own[choice]
            graph.taken[-1] = node, only, edges
            graph.reduce()
            yield graph

    def _take(self, node: int) -> tuple[Costs, dict[int, Costs]]:
        own, edges = self.costs.pop(node), self.edges.pop(node)
        for other in edges:
            del self.edges[other][node]
        self.taken.append((node, own, edges))
        return own, edges

    def choices(self) -> dict[int, int] | None:
        """The choices of all nodes, once all are taken out; the last one chooses first, then those before know its choice."""
        chosen: dict[int, int] = {}
        for node, own, edges in reversed(self.taken):
            total = own + sum(costs[:, chosen[other]] for other, costs in edges.items())
            chosen[node] = int(np.argmin(total))
            if total[chosen[node]] == inf:
                return None
        return chosen


def _choices(graph: _Graph) -> dict[int, int] | None:
    """The choices after the first guesses that hold, found depth first."""
    open_guesses: list[Iterator[_Graph]] = [iter([graph])]
    while open_guesses:
        reached = next(open_guesses[-1], None)
        if reached is None:
            open_guesses.pop()
        elif reached.edges:
            open_guesses.append(reached.guesses())
        elif (found := reached.choices()) is not None:
            return found
    return None


def _without_rows(costs: Costs) -> tuple[Costs, Costs]:
    """The least cost of each row, and the rest; an infinite row leaves a rest of 0."""
    least = costs.min(axis=1)
    finite = np.where(np.isinf(least), 0.0, least)
    rest = costs - finite[:, None]
    rest[np.isinf(least)] = 0.0
    return least, rest
