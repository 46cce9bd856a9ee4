"""Groups that templates propose on small networks."""

from __future__ import annotations

from compiler.fusion.legal import OpSets
from compiler.fusion.templates import TEMPLATES, Template, chain, labels_of, template_groups
from compiler.xgraph.graph import XGraph
from compiler.xgraph.ops import EltwiseKind, PoolKind, Reshape
from tests.compiler.graphs import Builder


def names(graph: XGraph, *templates: Template) -> set[str]:
    sets = OpSets(graph)
    return {"+".join(op.name for op in sets.members(mask)) for mask in template_groups(sets, templates or TEMPLATES)}


def test_a_chain_is_found_wherever_it_fits() -> None:
    b = Builder(0)
    x = b.conv(b.conv(b.conv(b.input(8, 8, 4), 4), 4), 4)
    assert names(b.graph(x), chain("conv", "conv")) == {"conv0+conv1", "conv1+conv2"}


def test_a_residual_block_offers_both_branches() -> None:
    b = Builder(0)
    x = b.input(8, 8, 4)
    left, right = b.conv(b.conv(x, 4), 4), b.conv(x, 4, (1, 1))
    found = names(b.graph(b.eltwise(EltwiseKind.ADD, left, right)))
    assert {"conv1+add3", "conv2+add3", "conv1+conv2+add3", "conv0+conv2"} <= found


def test_a_group_that_a_path_leaves_and_enters_again_is_not_offered() -> None:
    b = Builder(0)
    x = b.conv(b.input(8, 8, 4), 4)
    graph = b.graph(b.eltwise(EltwiseKind.ADD, b.conv(x, 4), x))
    assert "conv0+add2" not in names(graph, chain("conv", "eltwise"))


def test_nothing_joins_across_a_view() -> None:
    b = Builder(0)
    x = b.conv(b.input(8, 8, 4), 4)
    y = b.conv(b.view(Reshape, "flat", (x,), (1, 4, 16, 4)), 4)
    assert not names(b.graph(y), chain("conv", "conv"))


def test_labels_tell_kind_kernel_and_stride() -> None:
    b = Builder(0)
    b.pool(b.conv(b.input(8, 8, 4), 4, (3, 3), (2, 2), groups=4), PoolKind.MAX)
    depthwise, pool = b.ops
    assert labels_of(depthwise) == {"depthwise", "injective", "kernel3x3", "stride2x2"}
    assert labels_of(pool) == {"injective", "pool", "max", "kernel2x2", "stride2x2"}
    only = Template("strided", ("depthwise stride2x2", "pool"), feeds=((0, 1),))
    assert names(b.graph(pool.output), only) == {"conv0+max1"}
