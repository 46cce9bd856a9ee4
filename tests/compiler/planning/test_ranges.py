"""Row ranges: those of fewer steps, told from those of single rows; rows that are kept; steps that add none."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from compiler.planning.grouping import machine_ops, make_group
from compiler.planning.ranges import Ranges, deduce
from compiler.xgraph.graph import XGraph
from compiler.xgraph.ops import Concat, PoolKind, Upsample
from isa.config import preset
from tests.compiler.graphs import Builder

NANO = preset("nano")


def windows() -> XGraph:
    b = Builder(0)
    return b.graph(b.pool(b.conv(b.input(21, 6, 4), 4, (5, 5), (2, 2)), PoolKind.MAX, 3, 2, 1))


def skipping() -> XGraph:
    """A row that a step begins with is not yet made in steps of single rows: the 1x1 convolution skips every other one."""
    b = Builder(0)
    return b.graph(b.transpose(b.conv(b.conv(b.input(24, 6, 4), 4), 4, (1, 1), (2, 2)), 4))


def forked() -> XGraph:
    b = Builder(0)
    y = b.conv(b.input(12, 6, 4), 4)
    return b.graph(b.conv(y, 4), b.conv(y, 4, (1, 1)))


def joined() -> XGraph:
    """Parts of which one is made a row ahead of the other."""
    b = Builder(0)
    x = b.input(12, 6, 4)
    parts = (b.conv(x, 5), b.pool(b.conv(x, 4), PoolKind.MAX, 3, 1, 1))
    return b.graph(b.conv(b.view(Concat, "join", parts, (1, 12, 6, 9)), 4))


def hourglass() -> XGraph:
    b = Builder(0)
    y = b.pool(b.conv(b.input(21, 6, 4), 4, (5, 5)), PoolKind.MAX, 3, 2, 1)
    y = b.view(Upsample, "up", (b.conv(y, 4),), (1, 33, 9, 4), factor=(3, 3))
    return b.graph(b.conv(y, 4))


def ranges(graph: XGraph, steps: int) -> Ranges:
    return deduce(make_group(NANO, graph, machine_ops(graph)), steps)


@pytest.mark.parametrize("shape", [windows, skipping, forked, joined, hourglass])
def test_coarser_steps_are_those_deduced_anew(shape: Callable[[], XGraph]) -> None:
    graph = shape()
    height = graph.tensors[graph.outputs[0]].height
    finest = ranges(graph, height)
    for steps in range(1, height + 1):
        coarser, anew = finest.coarser(steps), ranges(graph, steps)
        for name in finest.end:
            assert np.array_equal(coarser.end[name], anew.end[name])
            assert np.array_equal(coarser.begin[name], anew.begin[name])


def test_rows_kept_are_what_a_ring_must_hold() -> None:
    """Every row from the first that a step still reads, while the maker is ``lag`` steps ahead."""
    graph = windows()
    found = ranges(graph, 3)
    (name,) = graph.inputs
    for lag in range(4):
        held = [found.end[name][min(step + lag, 2)] - found.begin[name][step] for step in range(3)]
        assert found.rows_kept(name, name, lag) == max(held)


def test_steps_that_add_no_rows_are_told() -> None:
    """A window brings its reader a row ahead, so nothing is left for the last step; a row that is repeated lasts three."""
    graph = hourglass()
    working = ranges(graph, 33).working
    assert [working[op.output] for op in graph.ops] == [10, 10, 11, 32, 33]
