"""Maps of which a group needs only some pixels, and batches of maps of one pixel."""

from __future__ import annotations

from compiler.planning.grouping import one_each
from compiler.planning.objective import DRAM
from compiler.planning.plan import Plan
from compiler.planning.plan_partition import plans_of
from compiler.xgraph.ops import EltwiseKind, PoolKind, Reshape, Slice
from isa.config import preset
from tests.compiler.graphs import Builder, check
from tests.compiler.planning.bytes_moved import moved

NANO = preset("nano")


def cost(b: Builder, *outputs: str, fused: bool = False) -> int:
    """Bytes of the plans, which are those moved; the result is the reference's."""
    graph = b.graph(*outputs)
    groups = [b.ops] if fused else one_each(graph)
    emitted = check(NANO, graph, groups, objective=DRAM)
    weighed = sum(step.cost.dram_bytes for step in plans_of(NANO, graph, groups, DRAM) if isinstance(step, Plan))
    assert moved(NANO, emitted) == weighed
    return weighed


def parameters(inputs: int, outputs: int) -> int:
    return outputs // 4 * (inputs // 4 * 16 + 32)


def test_a_strided_point_convolution_loads_the_pixels_that_it_reads() -> None:
    b = Builder(0)
    assert cost(b, b.conv(b.input(9, 8, 16, n=2), 8, (1, 1), (2, 2))) == 2 * (5 * 4 * 16 + 5 * 4 * 8) + parameters(16, 8)


def test_so_do_two_that_skip_alike() -> None:
    b = Builder(1)
    x = b.input(8, 9, 16)
    outputs = [b.conv(x, 8, (1, 1), (2, 3)), b.conv(x, 12, (1, 1), (2, 3))]
    assert cost(b, *outputs, fused=True) == 4 * 3 * (16 + 8 + 12) + parameters(16, 8) + parameters(16, 12)


def test_another_reader_needs_them_all() -> None:
    b = Builder(2)
    x = b.input(8, 8, 16)
    outputs = [b.conv(x, 8, (1, 1), (2, 2)), b.conv(x, 8, (1, 1))]
    assert cost(b, *outputs, fused=True) == 64 * 16 + 16 * 8 + 64 * 8 + 2 * parameters(16, 8)


def test_pixels_of_a_view_and_of_a_map_made_on_chip() -> None:
    b = Builder(3)
    x = b.view(Slice, "part", (b.input(9, 9, 16),), (1, 7, 8, 12), begin=(1, 0, 3))
    y = b.conv(x, 8, (1, 1), (2, 2))
    cost(b, b.conv(b.conv(y, 8), 8, (1, 1), (2, 2)), fused=False)
    c = Builder(4)
    cost(c, c.conv(c.conv(c.input(8, 8, 8), 8), 8, (1, 1), (2, 2)), fused=True)


def test_dense_layers_load_their_parameters_once_for_the_batch() -> None:
    b = Builder(5)
    x = b.input(1, 1, 600, n=3)
    y = b.eltwise(EltwiseKind.ADD, b.conv(x, 40, (1, 1)), b.conv(x, 40, (1, 1)))
    z = b.conv(y, 12, (1, 1))
    assert cost(b, z, fused=True) == 3 * (600 + 12) + 2 * parameters(600, 40) + parameters(40, 12)


def test_a_dense_layer_after_a_flattened_map() -> None:
    b = Builder(6)
    pooled = b.pool(b.input(6, 4, 12, n=4), PoolKind.MAX)
    flat = b.view(Reshape, "flat", (pooled,), (4, 1, 1, 72))
    assert cost(b, b.conv(flat, 8, (1, 1))) == 4 * (6 * 4 * 12 + 2 * 72 + 8) + parameters(72, 8)
