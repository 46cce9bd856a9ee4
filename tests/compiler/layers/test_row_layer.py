"""Softmax and normalisation in groups: alone, between convolutions, in tiles and for batches."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

from compiler.layers.fit import FitError
from compiler.layers.lower import lower
from compiler.xgraph.ops import Finish
from compiler.xgraph.parser import parse_graph
from compiler.xgraph.printer import print_graph
from compiler.xgraph.row_operations import Normalisation, Softmax
from compiler.xgraph.verify import verify
from isa.config import MachineConfig, preset
from isa.rows import below_root, exponentials, factors
from tests.compiler.graphs import Builder, check

ROWS = dataclasses.replace(preset("nano"), name="nano_rows", build_rows=True, row_words=16)
TINY = dataclasses.replace(ROWS, fm_depth=32, weight_depth=64, acc_depth=8)
KINDS = ("softmax", "normalise", "rms")


def add(b: Builder, kind: str, x: str) -> str:
    """A row operation with random constants on a map of the graph that is being built."""
    shape, name = b.tensors[x].shape, f"{kind}{len(b.ops)}"
    if kind == "softmax":
        e, t = exponentials(0.05, 1 / 255)
        return b.view(Softmax, name, (x,), shape, e=e, t=t, finish=Finish(-128))
    g, o, shift = factors(b.rng.normal(1, 0.5, shape[3]), b.rng.normal(0, 0.5, shape[3]), 0.03)
    k = below_root(1e-5, shape[3], 0.05)
    return b.view(
        Normalisation, name, (x,), shape, g=g, b=o, shift=shift, k=k, rms=kind == "rms", a_zp=3, finish=Finish(-7, -120, 119)
    )


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("shape", [(1, 1, 1), (1, 7, 13), (3, 5, 64), (2, 1, 9)])
def test_alone(kind: str, shape: tuple[int, int, int]) -> None:
    b = Builder(1)
    graph = verify(b.graph(add(b, kind, b.input(*shape, n=2))))
    again = parse_graph(print_graph(graph))
    assert print_graph(again) == print_graph(graph)
    check(ROWS, again)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(("config", "width"), [(ROWS, 6), (TINY, 40)])
def test_between_convolutions(kind: str, config: MachineConfig, width: int) -> None:
    b = Builder(2)
    row = add(b, kind, b.conv(b.input(7, width, 5), 11))
    graph = b.graph(b.conv(row, 6))
    check(config, graph, [graph.ops])


def test_two_tables_of_exponentials_are_two_groups() -> None:
    b = Builder(3)
    first = add(b, "softmax", b.input(2, 5, 9))
    graph = b.graph(add(b, "rms", add(b, "softmax", add(b, "normalise", first))))
    check(ROWS, graph)
    check(ROWS, graph, [graph.ops[:1], graph.ops[1:]])


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_on_the_verilog(kind: str) -> None:
    b = Builder(4)
    row = add(b, kind, b.conv(b.input(3, 7, 5), 11))
    graph = b.graph(b.conv(row, 6))
    check(ROWS, graph, [graph.ops], rtl=True)
    check(ROWS, graph, rtl=True)


@pytest.mark.parametrize(
    ("config", "text"),
    [
        (preset("nano"), "nano builds no ROW unit, which computes softmax and normalisation; set build_rows = true"),
        (ROWS, "rows of ROW have 64 elements at most \\(row_words\\), those of x0 65; the CPU computes it"),
    ],
)
def test_what_does_not_fit_is_refused(config: MachineConfig, text: str) -> None:
    b = Builder(5)
    graph = b.graph(add(b, "softmax", b.input(1, 3, 65)))
    with pytest.raises(FitError, match=text):
        lower(config, graph.ops[0], graph.tensors)


def test_extremes() -> None:
    """Rows of one value, of one peak, and a sum next to the least."""
    b = Builder(6)
    x = b.input(1, 4, 10)
    graph = b.graph(*(add(b, kind, x) for kind in KINDS))
    rows = np.full((1, 1, 4, 10), -128, np.int8)
    rows[0, 0, 1], rows[0, 0, 2, 4], rows[0, 0, 3, ::2] = 127, 127, 3
    check(ROWS, graph, given={x: rows})
