"""Finds all embeddings of a pattern in a labelled graph (DNNVM section 4.2, Algorithm 1).

Both are directed graphs whose vertices and edges carry labels. An embedding maps the pattern's vertices to different vertices
of the graph. Each vertex has at least the labels asked for, and every edge of the pattern is there with its label. Edges that
the pattern does not mention do not matter.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

Labels = frozenset[str]
Edge = tuple[int, int]
Embedding = tuple[int, ...]
"""The vertex of the graph for each vertex of the pattern."""


@dataclass(frozen=True, eq=False)
class LabelledGraph:
    """A graph of numbered vertices. A vertex or an edge may carry several labels."""

    vertices: Sequence[Labels]
    edges: Mapping[Edge, Labels]

    @cached_property
    def neighbours(self) -> list[set[int]]:
        """For each vertex, its neighbours by edges of either direction."""
        near: list[set[int]] = [set() for _ in self.vertices]
        for a, b in self.edges:
            near[a].add(b)
            near[b].add(a)
        return near

    @cached_property
    def having(self) -> dict[str, set[int]]:
        """The vertices by label."""
        found: dict[str, set[int]] = {}
        for number, labels in enumerate(self.vertices):
            for label in labels:
                found.setdefault(label, set()).add(number)
        return found


def embeddings(pattern: LabelledGraph, graph: LabelledGraph) -> Iterator[Embedding]:
    """Yields every embedding of a connected pattern once."""
    candidates = [_candidates(graph, labels) for labels in pattern.vertices]
    if not all(candidates):
        return
    start = min(range(len(candidates)), key=lambda v: len(candidates[v]))
    order = _breadth_first(pattern, start)
    yield from _extended(pattern, graph, candidates, order, {})


def _candidates(graph: LabelledGraph, labels: Labels) -> set[int]:
    """The vertices with all the labels (FilterCandidates)."""
    sets = [graph.having.get(label, set()) for label in labels]
    return set.intersection(*sets) if sets else set(range(len(graph.vertices)))


def _breadth_first(pattern: LabelledGraph, start: int) -> list[int]:
    """The vertices in an order in which each but the first is next to an earlier one (NextQueryVertex)."""
    order = [start]
    for vertex in order:
        order += sorted(pattern.neighbours[vertex] - set(order))
    if len(order) < len(pattern.vertices):
        raise ValueError(f"pattern: vertices {sorted(set(range(len(pattern.vertices))) - set(order))} hang on nothing")
    return order


def _extended(
    pattern: LabelledGraph, graph: LabelledGraph, candidates: Sequence[set[int]], order: Sequence[int], state: dict[int, int]
) -> Iterator[Embedding]:
    """Yields the embeddings that extend ``state``, which maps the first vertices of the order (SubgraphSearch)."""
    if len(state) == len(order):
        yield tuple(state[v] for v in range(len(order)))
        return
    vertex = order[len(state)]
    # The neighbours come first: they are few, where candidates may be all vertices of the graph.
    near = [graph.neighbours[state[other]] for other in pattern.neighbours[vertex] if other in state]
    refined = set.intersection(*near, candidates[vertex])
    for found in sorted(refined - set(state.values())):
        if _matches(pattern, graph, state, vertex, found):
            state[vertex] = found
            yield from _extended(pattern, graph, candidates, order, state)
            del state[vertex]


def _matches(pattern: LabelledGraph, graph: LabelledGraph, state: Mapping[int, int], vertex: int, found: int) -> bool:
    """Whether every edge of the pattern between the new vertex and earlier ones is there, with its labels."""
    none: Labels = frozenset()
    for other in pattern.neighbours[vertex]:
        if other in state:
            for edge, image in (((vertex, other), (found, state[other])), ((other, vertex), (state[other], found))):
                if edge in pattern.edges and not pattern.edges[edge] <= graph.edges.get(image, none):
                    return False
    return True
