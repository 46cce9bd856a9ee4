"""Groups that templates propose on small networks."""

from __future__ import annotations

import pytest

from compiler.fusion.legal import OpSets
from compiler.fusion.templates import PAPER_TEMPLATES, TEMPLATES, Template, chain, labels_of, side_by_side, template_groups
from compiler.xgraph.graph import XGraph
from compiler.xgraph.ops import EltwiseKind, PoolKind, Reshape, Slice, Upsample
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


def operation(b: Builder, kind: str, *inputs: str) -> str:
    first, *others = inputs
    match kind:
        case "conv" | "injective":
            return b.conv(first, 4)
        case "depthwise":
            return b.conv(first, 4, groups=4)
        case "deconv":
            return b.transpose(first, 4)
        case "pool":
            return b.pool(first, PoolKind.AVERAGE, 3, 1, 1)
        case "eltwise":
            return b.eltwise(EltwiseKind.ADD, first, others[0] if others else b.input(*b.tensors[first].shape[1:]))
        case "upsample":
            _, h, w, c = b.tensors[first].shape
            return b.view(Upsample, f"up{len(b.ops)}", (first,), (1, 2 * h, 2 * w, c), factor=(2, 2))
    raise ValueError(kind)


def network(name: str) -> XGraph:
    """What a template's name says: ``a > b`` a chain, ``a | b`` side by side on one map, ``a, b > c`` two that feed one."""
    b = Builder(0)
    x = b.input(8, 8, 4)
    if " | " in name:
        return b.graph(*[operation(b, kind, x) for kind in name.split(" | ")])
    first, *rest = name.split(" > ")
    results = [operation(b, kind, b.input(8, 8, 4)) for kind in first.split(", ")]
    for kind in rest:
        results = [operation(b, kind, *results)]
    return b.graph(*results)


@pytest.mark.parametrize("template", [*TEMPLATES, *PAPER_TEMPLATES], ids=lambda template: template.name)
def test_a_template_proposes_the_network_of_its_name_as_one_group(template: Template) -> None:
    sets = OpSets(network(template.name))
    assert template_groups(sets, (template,)) == {sets.everything: template}


def test_chains_feed_and_what_stands_side_by_side_shares() -> None:
    assert chain("a", "b", "c") == Template("a > b > c", ("a", "b", "c"), feeds=((0, 1), (1, 2)))
    assert side_by_side("a", "b", "c") == Template("a | b | c", ("a", "b", "c"), shares=((0, 1), (0, 2)))


def test_a_chain_is_not_side_by_side_and_the_other_way_round() -> None:
    assert not names(network("conv > conv"), side_by_side("conv", "conv"))
    assert not names(network("conv | conv"), chain("conv", "conv"))


def test_operations_that_feed_and_share_are_proposed_as_both() -> None:
    """The sum reads the convolution's input and its result."""
    b = Builder(0)
    x = b.input(8, 8, 4)
    graph = b.graph(b.eltwise(EltwiseKind.ADD, b.conv(x, 4), x))
    assert names(graph, chain("conv", "eltwise")) == names(graph, side_by_side("conv", "eltwise")) == {"conv0+add1"}


def test_a_group_counts_for_the_first_template_that_proposes_it() -> None:
    sets = OpSets(network("conv > pool"))
    wide, narrow = chain("injective", "injective"), chain("conv", "pool")
    assert template_groups(sets, (wide, narrow)) == {0b11: wide}
    assert template_groups(sets, (narrow, wide)) == {0b11: narrow}


def test_two_branches_that_a_path_leaves_and_enters_are_not_proposed_side_by_side() -> None:
    """The second convolution reads the first one's input, and its result through another one."""
    b = Builder(0)
    x = b.conv(b.input(8, 8, 4), 4)
    through = b.conv(b.conv(x, 4), 4)
    graph = b.graph(b.eltwise(EltwiseKind.ADD, through, x))
    assert names(graph, side_by_side("conv", "eltwise")) == set()


def test_labels_of_each_type() -> None:
    b = Builder(0)
    x = b.input(8, 8, 4)
    b.transpose(x, 4)
    b.conv(x, 4, (1, 3), (2, 1))
    b.view(Upsample, "up", (x,), (1, 16, 16, 4), factor=(2, 2))
    b.eltwise(EltwiseKind.PASS, x)
    b.eltwise(EltwiseKind.MUL, x, x)
    b.view(Slice, "part", (x,), (1, 8, 8, 2), begin=(0, 0, 0))
    assert [labels_of(op) for op in b.ops] == [
        {"deconv", "injective", "kernel4x4", "stride2x2"},
        {"conv", "injective", "kernel1x3", "stride2x1"},
        {"upsample", "injective"},
        {"eltwise", "pass", "injective"},
        {"eltwise", "mul"},
        {"slice", "injective"},
    ]
