"""A kind of operation that is registered from outside goes all the way: text, checks, plans of every form, program, result."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest

from compiler.driver import steps_of
from compiler.emit.program import emit_program
from compiler.layers.lower import LAYERS, register
from compiler.planning.columns import TileCut
from compiler.planning.grouping import make_group
from compiler.planning.objective import DRAM
from compiler.planning.plan import Plan
from compiler.planning.plan_partition import plans_of
from compiler.search.strategies import STRATEGIES
from compiler.xgraph.graph import GraphError, XGraph
from compiler.xgraph.parser import OPERATIONS, parse_graph
from compiler.xgraph.printer import print_graph
from compiler.xgraph.reference import COMPUTED, execute
from compiler.xgraph.verify import CHECKS, verify
from isa.config import config_from_dict, preset
from isa.errors import TilewrightError
from tests.compiler.graphs import Builder, check, check_emitted
from tests.compiler.layers.row_difference import RowDifference, RowDifferenceLayer, register_row_difference
from tests.compiler.planning.bytes_moved import moved

NANO = preset("nano")
SMALL = config_from_dict({"base": "nano", "name": "small", "fm_depth": 64, "weight_depth": 24}, origin="test")
TINY = config_from_dict({"base": "nano", "name": "tiny", "fm_depth": 32, "weight_depth": 64, "acc_depth": 8}, origin="test")


@pytest.fixture(autouse=True)
def registered() -> Iterator[None]:
    register_row_difference()
    yield
    del OPERATIONS[RowDifference.__name__], COMPUTED[RowDifference], CHECKS[RowDifference], LAYERS[RowDifference]


def difference(b: Builder, x: str, factor: int = 3, shift: int = 2) -> str:
    n, h, w, c = b.tensors[x].shape
    return b.view(RowDifference, f"difference{len(b.ops)}", (x,), (n, h - 1, w, c), factor=factor, shift=shift)


def between(h: int = 9, w: int = 11, c: int = 7, n: int = 1) -> XGraph:
    """Convolutions with it between them, and one that reads the same map beside it."""
    b = Builder(3)
    x = b.conv(b.input(h, w, 5, n), c)
    return verify(b.graph(b.conv(difference(b, x), 6), b.conv(x, 4, (1, 1))))


def test_the_reference_is_what_it_says() -> None:
    b = Builder(0)
    graph = b.graph(difference(b, b.input(3, 1, 1)))
    x = np.array([100, -100, -99], np.int8).reshape(1, 3, 1, 1)
    assert execute(graph, {"x0": x})[graph.outputs[0]].reshape(-1).tolist() == [-128, 1]


def test_it_is_read_back_from_text() -> None:
    printed = print_graph(between())
    assert "outputs=('difference1_out',), factor=3, shift=2)" in printed.text
    again = parse_graph(printed)
    assert print_graph(again) == printed
    assert isinstance(again.ops[1], RowDifference)


def test_its_check_refuses_what_is_wrong() -> None:
    b = Builder(0)
    x = b.input(4, 4, 4)
    with pytest.raises(GraphError, match=r"difference0: factor is 33554432, -33554431 to 33554431 is expected"):
        verify(b.graph(difference(b, x, factor=1 << 25)))


def test_a_kind_is_registered_once() -> None:
    with pytest.raises(TilewrightError, match="kind RowDifference: there is one of this name; choose another"):
        register_row_difference()
    with pytest.raises(TilewrightError, match="kind Conv: there is one of this name"):
        register(type("Conv", (RowDifference,), {}), computed=COMPUTED[RowDifference], check=lambda checks, op: None,
                 layer=RowDifferenceLayer)  # fmt: skip


@pytest.mark.parametrize("batch", [1, 2])
def test_alone_and_in_one_group_it_computes_the_reference(batch: int) -> None:
    graph = between(n=batch)
    for groups in ([[op] for op in graph.ops], [graph.ops]):
        check(NANO, graph, groups)


def test_in_steps_of_few_rows() -> None:
    graph = between(24, 8, 8)
    (plan,) = (step for step in plans_of(SMALL, graph, [graph.ops], DRAM) if isinstance(step, Plan))
    assert plan.steps > 1
    check(SMALL, graph, [graph.ops], objective=DRAM)


@pytest.mark.parametrize("bands", [1, 3])
def test_in_tiles_of_columns_and_bands_of_rows(bands: int) -> None:
    graph = between(7, 40, 8)
    (plan,) = (step for step in plans_of(TINY, graph, [graph.ops], DRAM, bands=bands) if isinstance(step, Plan))
    assert (plan.tiles > 1, plan.bands) == (True, bands)
    emitted = check(TINY, graph, [graph.ops], objective=DRAM, bands=bands)
    assert moved(TINY, emitted) == plan.cost.dram_bytes


def test_the_rows_of_a_band_and_what_lies_before_them() -> None:
    """Of 8 rows, the second four: they need rows 4 to 8, and the convolution beside it asks for none before."""
    b = Builder(0)
    graph = b.graph(difference(b, b.conv(b.input(9, 4, 4), 4, (1, 1))))
    cut = TileCut(NANO, make_group(NANO, graph, graph.ops), 0)
    assert cut.spans(1, 2) == {"x0": (4, 9), "conv0_out": (4, 9), "difference1_out": (4, 8)}


def test_in_passes_over_channels() -> None:
    b = Builder(1)
    x = b.conv(b.input(7, 6, 8), 40)
    graph = b.graph(difference(b, x))
    (plan,) = (step for step in plans_of(SMALL, graph, [graph.ops], DRAM) if isinstance(step, Plan))
    assert plan.count > 1
    assert any(each.group.first_channel for each in plan.passes)
    check(SMALL, graph, [graph.ops], objective=DRAM)


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_every_strategy_takes_it(strategy: str) -> None:
    graph = between(6, 5, 4)
    steps = steps_of(NANO, graph, strategy, "cycles")
    check_emitted(NANO, graph, emit_program(NANO, graph, steps))
