"""Networks found by search, or drawn at random: their graphs."""

from __future__ import annotations

import networkx
import pytest

from compiler.zoo.cells import AMOEBANET_A, DARTS, NASNET_A, Cell
from compiler.zoo.networks import networks
from compiler.zoo.randwire import watts_strogatz


@pytest.mark.parametrize("seed", range(10))
@pytest.mark.parametrize("shape", [(32, 4, 0.75), (12, 4, 1.0), (9, 2, 0.3), (5, 4, 1.0)], ids=str)
def test_random_wirings_are_those_of_networkx(shape: tuple[int, int, float], seed: int) -> None:
    nodes, degree, p = shape
    drawn = networkx.connected_watts_strogatz_graph(nodes, degree, p, seed=seed)
    assert watts_strogatz(nodes, degree, p, seed) == [set(drawn[node]) for node in range(nodes)]


@pytest.mark.parametrize("cell", [*DARTS, *AMOEBANET_A, *NASNET_A])
def test_cells_read_what_is_there_and_leave_nothing_unread(cell: Cell) -> None:
    read = {place for edges in cell.nodes for _, place in edges}
    for number, edges in enumerate(cell.nodes):
        assert all(place < number + 2 for _, place in edges)
    assert read | set(cell.joined) == set(range(len(cell.nodes) + 2))


def test_the_wiring_decides_the_graph_and_the_seed_does_not() -> None:
    build = networks()["randwire0"]
    small = {"size": 32, "channels": 8, "nodes": 10}
    assert list(build(seed=1, **small).graph.node) == list(build(seed=2, **small).graph.node)
    assert list(build(**small).graph.node) != list(networks()["randwire1"](**small).graph.node)
