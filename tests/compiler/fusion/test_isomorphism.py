"""Algorithm 1 against the VF2 of networkx, on random labelled graphs and by hand."""

from __future__ import annotations

import random

import networkx
import pytest

from compiler.fusion.isomorphism import Embedding, LabelledGraph, embeddings

KINDS = ("conv", "conv", "conv", "pool", "eltwise")


def drawn(rng: random.Random, size: int, density: float, kinds: tuple[str, ...] = KINDS) -> LabelledGraph:
    """Edges from lower to higher numbers feed; ``shares`` goes both ways."""
    vertices = [frozenset({rng.choice(kinds), rng.choice(("small", "large"))}) for _ in range(size)]
    edges: dict[tuple[int, int], frozenset[str]] = {}
    for a in range(size):
        for b in range(a + 1, size):
            if rng.random() < density:
                edges[a, b] = frozenset({"feeds"})
            if rng.random() < density / 3:
                edges[a, b] = edges.get((a, b), frozenset()) | {"shares"}
                edges[b, a] = frozenset({"shares"})
    return LabelledGraph(vertices, edges)


def pattern_of(rng: random.Random, size: int) -> LabelledGraph:
    """A random tree, and perhaps an edge more; some vertices ask for less."""
    vertices = [frozenset({rng.choice(KINDS)} if rng.random() < 0.8 else ()) for _ in range(size)]
    edges = {}
    for b in range(1, size):
        a = rng.randrange(b)
        edges[(a, b) if rng.random() < 0.7 else (b, a)] = frozenset({rng.choice(("feeds", "feeds", "shares"))})
    if size > 2 and rng.random() < 0.4:
        edges[0, size - 1] = frozenset({"feeds"})
    return LabelledGraph(vertices, edges)


def vf2(pattern: LabelledGraph, graph: LabelledGraph) -> set[Embedding]:
    def drawn_as(labelled: LabelledGraph) -> networkx.DiGraph:
        made = networkx.DiGraph()
        for number, labels in enumerate(labelled.vertices):
            made.add_node(number, labels=labels)
        for (a, b), labels in labelled.edges.items():
            made.add_edge(a, b, labels=labels)
        return made

    matcher = networkx.algorithms.isomorphism.DiGraphMatcher(
        drawn_as(graph), drawn_as(pattern),
        node_match=lambda found, asked: asked["labels"] <= found["labels"],
        edge_match=lambda found, asked: asked["labels"] <= found["labels"],
    )  # fmt: skip
    found = set()
    for mapping in matcher.subgraph_monomorphisms_iter():
        back = {asked: vertex for vertex, asked in mapping.items()}
        found.add(tuple(back[v] for v in range(len(pattern.vertices))))
    return found


def test_the_embeddings_are_those_of_vf2() -> None:
    for seed in range(40):
        rng = random.Random(seed)
        graph = drawn(rng, rng.randint(4, 18), rng.uniform(0.1, 0.4))
        pattern = pattern_of(rng, rng.randint(1, 5))
        found = list(embeddings(pattern, graph))
        assert len(found) == len(set(found))
        assert set(found) == vf2(pattern, graph)


def test_random_patterns_do_have_embeddings() -> None:
    rng = random.Random(0)
    counts = [len(list(embeddings(pattern_of(rng, 3), drawn(rng, 15, 0.3)))) for _ in range(20)]
    assert sum(count > 0 for count in counts) >= 15


def test_all_overlapping_embeddings_are_found_not_the_first_only() -> None:
    line = LabelledGraph([frozenset({"conv"})] * 4, {(n, n + 1): frozenset({"feeds"}) for n in range(3)})
    pair = LabelledGraph([frozenset({"conv"})] * 2, {(0, 1): frozenset({"feeds"})})
    assert list(embeddings(pair, line)) == [(0, 1), (1, 2), (2, 3)]


def test_edges_have_a_direction_and_a_label() -> None:
    graph = LabelledGraph([frozenset({"conv"}), frozenset({"pool"})], {(0, 1): frozenset({"feeds"})})
    backwards = LabelledGraph([frozenset({"conv"}), frozenset({"pool"})], {(1, 0): frozenset({"feeds"})})
    other = LabelledGraph([frozenset({"conv"}), frozenset({"pool"})], {(0, 1): frozenset({"shares"})})
    assert not list(embeddings(backwards, graph))
    assert not list(embeddings(other, graph))


def test_a_pattern_in_two_pieces_is_refused() -> None:
    loose = LabelledGraph([frozenset({"conv"})] * 2, {})
    with pytest.raises(ValueError, match="hang on nothing"):
        list(embeddings(loose, LabelledGraph([frozenset({"conv"})] * 3, {})))
