"""A program is emitted before its parameters are packed; loads then name the places that packing at once would have given."""

from __future__ import annotations

import pytest

from compiler.emit.parameters import ConstImage
from compiler.emit.places import ALIGN, places
from compiler.emit.program import _parts, _schedule, emit_program
from compiler.planning.grouping import machine_ops
from compiler.planning.plan_partition import plans_of
from compiler.xgraph.ops import Cpu
from isa.codec import Op, encode
from isa.config import preset
from tests.compiler.search.partitions import random_graph


@pytest.mark.parametrize("name", ["nano", "base"])
@pytest.mark.parametrize("seed", range(4))
def test_loads_of_parameters_come_from_where_they_are_packed(name: str, seed: int) -> None:
    config, graph = preset(name), random_graph(seed)
    steps = plans_of(config, graph, [(op,) for op in machine_ops(graph)])
    emitted = emit_program(config, graph, steps)

    views, sizes = places(graph, steps)
    const = ConstImage(max(ALIGN, config.axi_bytes))
    words: list[int] = []
    for part in _parts(config, graph, steps, const, views, sizes):
        assert not isinstance(part, Cpu)
        body = [op for op, _ in _schedule(*part).instructions]
        words += [word for op in [Op("START", {"config": config.hash}), *body, Op("END")] for word in encode(op)]
    assert emitted.words == tuple(words)
    assert emitted.const == const.image()
