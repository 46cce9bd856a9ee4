"""Row ranges: what fewer steps need, told from those of single rows."""

from __future__ import annotations

import numpy as np
import pytest

from compiler.codegen.ranges import deduce
from compiler.emit.grouping import make_group
from compiler.search.cost import Evaluator
from compiler.xgraph.graph import XGraph
from compiler.xgraph.ops import PoolKind, Upsample
from isa.config import preset
from tests.compiler.graphs import Builder
from tests.compiler.search.partitions import all_groups, random_graph

NANO = preset("nano")


def hourglass() -> XGraph:
    b = Builder(0)
    y = b.pool(b.conv(b.input(21, 6, 4), 4, (5, 5)), PoolKind.MAX, 3, 2, 1)
    y = b.view(Upsample, "up", (b.conv(y, 4),), (1, 33, 9, 4), factor=(3, 3))
    return b.graph(b.conv(y, 4))



@pytest.mark.parametrize("graph", [hourglass(), *(random_graph(seed) for seed in range(8))], ids=lambda graph: graph.name)
def test_coarser_steps_are_those_deduced_anew(graph: XGraph) -> None:
    known = Evaluator(NANO, graph)
    for mask in [*all_groups(known.sets, known.sets.joins)][:40]:
        group = known.group(mask)
        height = group.tensors[group.outputs[0]].height
        finest = deduce(group, height)
        for steps in {1, 2, 3, height // 2, height}:
            coarser, anew = finest.coarser(steps), deduce(group, steps)
            for name in group.maps:
                assert np.array_equal(coarser.end[name], anew.end[name])
                assert np.array_equal(coarser.begin[name], anew.begin[name])


def test_steps_that_add_no_rows_are_told() -> None:
    """A window brings its reader a row ahead, so nothing is left for the last step; a row that is repeated lasts three."""
    graph = hourglass()
    working = deduce(make_group(NANO, graph, graph.ops), 33).working
    made = {op.name: working[op.output] for op in graph.ops}
    assert list(made.values()) == [10, 10, 11, 32, 33]
