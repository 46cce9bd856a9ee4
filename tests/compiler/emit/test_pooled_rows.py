"""Pooling of a map to one row begins before all channels of the map are there."""

from __future__ import annotations

import pytest

from compiler.emit.group import emit_plan
from compiler.emit.parameters import Parameters, UnpackedImage
from compiler.instructions.pending import Pending
from compiler.planning.plan import Plan
from compiler.planning.plan_partition import plans_of
from compiler.tuned import LEAST_POOL_PIECE as LEAST
from compiler.tuned import MOST_POOL_PIECES as MOST
from compiler.xgraph.graph import XGraph
from compiler.xgraph.ops import PoolKind
from isa.config import PRESETS, MachineConfig, config_from_dict
from sim.cycle.model import CycleModel
from tests.compiler.emit.test_emit_moves import homes
from tests.compiler.graphs import Builder, check

NANO, BASE = PRESETS["nano"], PRESETS["base"]
STREAMS = config_from_dict({"base": "nano", "weight_depth": 48}, origin="test")
"""Of a layer's weights only some stay on it."""


def emitted(b: Builder, graph: XGraph, config: MachineConfig = NANO) -> list[Pending]:
    """Of all operations in one group."""
    (plan,) = (step for step in plans_of(config, graph, [b.ops]) if isinstance(step, Plan))
    return emit_plan(config, plan, homes(graph, plan), Parameters(config, UnpackedImage(config)))


def pooled(kind: PoolKind, size: int = 12, channels: int = 40) -> tuple[Builder, XGraph]:
    b = Builder(4)
    return b, b.graph(b.pool(b.conv(b.input(size, size, 8), channels, (1, 1)), kind, size))


@pytest.mark.parametrize("kind", [PoolKind.AVERAGE, PoolKind.MAX])
def test_a_map_of_one_row_is_pooled_in_pieces_of_channels(kind: PoolKind) -> None:
    b, graph = pooled(kind)
    vectors = 40 // NANO.ic_p
    pieces = [pending for pending in emitted(b, graph) if pending.name == "POOL"]
    assert 1 < len(pieces) <= MOST
    assert sum(piece.values["vectors"] for piece in pieces) == vectors
    assert all(piece.cycles >= LEAST for piece in pieces[:-1])
    check(NANO, graph, [b.ops])


def test_the_first_of_them_are_pooled_beside_the_convolution(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whose channels come one block of weights after the other."""
    b, graph = pooled(PoolKind.AVERAGE)
    model = CycleModel(STREAMS)
    in_pieces = model.run(check(STREAMS, graph, [b.ops]).words).cycles
    monkeypatch.setattr("compiler.layers.pool.LEAST", 1 << 20)
    whole = model.run(check(STREAMS, graph, [b.ops]).words).cycles
    assert in_pieces < 0.95 * whole


def test_a_short_row_is_pooled_at_once() -> None:
    b = Builder(6)
    graph = b.graph(b.pool(b.input(4, 4, 24), PoolKind.AVERAGE, 4))
    assert [pending.name for pending in emitted(b, graph)].count("POOL") == 1


def test_pieces_are_few() -> None:
    vectors = MOST + 4
    b, graph = pooled(PoolKind.MAX, 23, vectors * BASE.ic_p)
    pieces = [pending for pending in emitted(b, graph, BASE) if pending.name == "POOL"]
    assert LEAST <= 23 * 23
    assert len(pieces) == vectors // 2
