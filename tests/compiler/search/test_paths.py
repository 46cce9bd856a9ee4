"""The shortest path of DNNVM's search beside all paths, and the least limit with few partitions looked for."""

from __future__ import annotations

import math
import random
from collections.abc import Collection

from compiler.fusion.legal import Mask
from compiler.papers.dnnvm.shortest_paths import shortest as shortest_path
from compiler.planning.objective import DRAM
from compiler.programs.within import Limits
from compiler.search.cost import Evaluator, Groups
from isa.config import preset
from tests.compiler.graphs import Builder


def shortest(count: int, edges: dict[tuple[int, int], tuple[int, Mask]], at: int = 0) -> float:
    """Trying every way on."""
    if at == count:
        return 0
    return min(
        (price + shortest(count, edges, end) for (start, end), (price, _) in edges.items() if start == at), default=math.inf
    )


def test_the_shortest_path_is_that_of_all() -> None:
    """Steps of one are always there; each edge has a name of its own."""
    for seed in range(30):
        rng = random.Random(seed)
        count = rng.randint(1, 7)
        edges: dict[tuple[int, int], tuple[int, Mask]] = {}
        for i in range(count):
            for j in range(i + 1, count + 1):
                if j == i + 1 or rng.random() < 0.6:
                    edges[i, j] = rng.randint(1, 12) * (j - i), 100 * i + j
        cost, steps = shortest_path(count, edges)
        assert cost == shortest(count, edges)
        taken = [divmod(step, 100) for step in steps]
        assert [start for start, _ in taken] == [0, *(end for _, end in taken[:-1])]
        assert taken[-1][1] == count
        assert sum(edges[i, j][0] for i, j in taken) == cost


class Counted(dict[tuple[int, int], tuple[int, Mask]]):
    asked = 0

    def __getitem__(self, edge: tuple[int, int]) -> tuple[int, Mask]:
        self.asked += 1
        return super().__getitem__(edge)


def test_the_shortest_path_of_a_long_chain_looks_at_each_edge_once() -> None:
    """And once more at those on the path."""
    count = 200
    edges = Counted({(i, j): (1, 0) for i in range(count) for j in range(i + 1, min(i + 4, count) + 1)})
    cost, steps = shortest_path(count, edges)
    assert (cost, len(steps)) == (count // 4, count // 4)
    assert edges.asked == len(edges) + len(steps)


def test_no_operations_need_no_steps() -> None:
    assert shortest_path(0, {}) == (0, [])


class From(Limits):
    """Has a partition from some limit on; counts what it is asked."""

    enough: int
    asked = 0

    def cheapest(self, limit: int, favoured: Collection[Mask] = ()) -> Groups | None:
        self.asked += 1
        return () if limit >= self.enough else None


def test_the_least_limit_is_found_in_few_steps() -> None:
    """Of 64: strides double until one has a partition, then halves are tried."""
    b = Builder(0)
    evaluator = Evaluator(preset("nano"), b.graph(b.conv(b.input(4, 4, 4), 4)))
    for covered in (0, 5):
        for place in range(covered, 64):
            # Masks of no operation stand for candidates; the only operation is among them from ``covered`` on.
            needed: dict[Mask, int] = {(1 if n == covered else 2 << n): 10 * n for n in range(64)}
            limits = From(evaluator, DRAM, needed, 0)
            limits.enough = limits.limits[place]
            limits.__dict__["_cover_all"] = lambda masks: 1 in [*masks]
            assert limits.least == place
            assert limits.asked <= 2 * math.ceil(math.log2(place - covered + 2)) + 1
