"""Which layer computes an operation, on which unit, and from which of its inputs' pixels."""

from __future__ import annotations

from dataclasses import replace

import pytest

import compiler.layers
from compiler.layers.conv import ConvLayer
from compiler.layers.lower import fold_of, is_depthwise, lower, on_pool, stride_of
from compiler.layers.pool import DepthwiseLayer
from compiler.layers.transpose import DepthwiseTransposeLayer, TransposeLayer
from compiler.layers.views import Fold
from compiler.xgraph.graph import XGraph
from compiler.xgraph.ops import Conv, ConvTranspose, Op, Slice
from isa.config import MachineConfig, preset
from isa.errors import TilewrightError
from isa.latency import conv_drain
from tests.compiler.graphs import Builder, check
from tests.values import changeable

NANO, BASE = preset("nano"), preset("base")
FEW = replace(NANO, name="few", taps_depth=12)
"""POOL holds kernels of twelve taps."""


def one(b: Builder, out: str) -> tuple[Op, XGraph]:
    graph = b.graph(out)
    (op,) = graph.ops
    return op, graph


@pytest.mark.parametrize(
    ("channels", "groups", "depthwise"), [(8, 8, True), (8, 1, False), (8, 4, False), (16, 8, False), (16, 4, False)]
)
def test_depthwise_is_one_filter_for_each_channel(channels: int, groups: int, depthwise: bool) -> None:
    b = Builder(0)
    op, _ = one(b, b.conv(b.input(5, 5, 8), channels, groups=groups))
    assert isinstance(op, Conv)
    assert is_depthwise(op) == on_pool(NANO, op) == depthwise
    assert not on_pool(replace(NANO, build_pool=False), op)


def test_a_convolution_of_one_channel_is_dense() -> None:
    b = Builder(0)
    op, _ = one(b, b.conv(b.input(5, 5, 1), 1))
    assert isinstance(op, Conv)
    assert not is_depthwise(op)


@pytest.mark.parametrize("kernel", [(3, 4), (12, 1), (1, 12), (2, 6), (13, 1), (1, 13), (2, 7), (4, 4)])
def test_depthwise_kernels_go_to_pool_while_their_taps_fit(kernel: tuple[int, int]) -> None:
    b = Builder(0)
    op, graph = one(b, b.conv(b.input(15, 15, 8), 8, kernel, groups=8))
    fits = kernel[0] * kernel[1] <= 12
    assert isinstance(op, Conv)
    assert on_pool(FEW, op) == fits
    assert isinstance(lower(FEW, op, graph.tensors), DepthwiseLayer if fits else ConvLayer)


@pytest.mark.parametrize(
    ("kernel", "stride", "fits"),
    [(3, 1, True), (4, 1, False), (6, 2, True), (7, 2, False), (9, 3, True), (8, 3, True), (10, 3, False)],
)
def test_transposed_kernels_go_to_pool_while_the_taps_of_a_phase_fit(kernel: int, stride: int, fits: bool) -> None:
    """A phase of the output has every so-manieth tap; where the kernel is dilated it is taken as one."""
    b = Builder(0)
    op, graph = one(b, b.transpose(b.input(5, 5, 8), 8, kernel, stride, 0, groups=8))
    assert isinstance(op, ConvTranspose)
    assert on_pool(FEW, op) == fits
    assert isinstance(lower(FEW, op, graph.tensors), DepthwiseTransposeLayer if fits else TransposeLayer)
    dilated = replace(op, window=replace(op.window, dilation=(2, 2)))
    assert on_pool(FEW, dilated) == (kernel * kernel <= 12)


@pytest.mark.parametrize(
    ("kernel", "stride", "pads", "groups", "read"),
    [
        ((1, 1), (2, 2), None, 1, (2, 2)),
        ((1, 1), (1, 3), None, 1, (1, 3)),
        ((1, 1), (2, 1), None, 2, (2, 1)),
        ((1, 1), (1, 1), None, 1, None),
        ((1, 1), (2, 2), (1, 0, 0, 0), 1, None),
        ((1, 1), (2, 2), (0, 0, 0, -1), 1, None),
        ((1, 2), (2, 2), (0, 0, 0, 0), 1, None),
        ((2, 1), (2, 2), (0, 0, 0, 0), 1, None),
        ((1, 1), (2, 2), None, 8, None),
    ],
)
def test_pixels_that_a_convolution_skips_need_not_be_loaded(
    kernel: tuple[int, int], stride: tuple[int, int], pads: tuple[int, int, int, int] | None, groups: int,
    read: tuple[int, int] | None,
) -> None:  # fmt: skip
    b = Builder(1)
    op, graph = one(b, b.conv(b.input(9, 8, 8), 8, kernel, stride, pads, groups=groups))
    assert stride_of(NANO, op) == read
    check(NANO, graph)


def test_pools_skip_no_pixels() -> None:
    b = Builder(1)
    op, _ = one(b, b.transpose(b.input(9, 8, 8), 8, 1, 2, 0))
    assert stride_of(NANO, op) is None


@pytest.mark.parametrize(
    ("config", "channels", "kernel", "stride", "pads", "dilation", "fold"),
    [
        (BASE, 3, (7, 7), (2, 2), (3, 3, 3, 3), (1, 1), Fold(6, 21, 9, 0, 11)),
        (BASE, 3, (1, 5), (1, 1), (0, 2, 0, 2), (1, 1), Fold(3, 15, 6, 0, 22)),
        (BASE, 3, (3, 3), (2, 3), (1, 0, 1, 0), (2, 1), Fold(9, 9, 0, 0, 7)),
        (BASE, 3, (3, 3), (3, 4), (1, 0, 1, 0), (1, 1), None),  # pixels between windows
        (BASE, 3, (3, 3), (1, 1), (1, 2, 1, 2), (1, 2), None),
        (BASE, 3, (3, 1), (1, 1), (1, 0, 1, 0), (1, 1), None),
        (BASE, 3, (3, 3), (1, 1), (1, -1, 1, 1), (1, 1), None),
        (BASE, 16, (3, 3), (1, 1), (1, 1, 1, 1), (1, 1), None),  # nothing saved
        (BASE, 8, (1, 2), (1, 1), (0, 0, 0, 0), (1, 1), Fold(8, 16, 0, 0, 21)),  # half
        (BASE, 12, (1, 4), (1, 1), (0, 0, 0, 0), (1, 1), Fold(12, 48, 0, 0, 19)),  # three of four beats
        (BASE, 13, (1, 4), (1, 1), (0, 0, 0, 0), (1, 1), None),  # all four
        (NANO, 3, (1, 4), (1, 1), (0, 0, 0, 0), (1, 1), Fold(3, 12, 0, 0, 19)),
    ],
)
def test_kernel_columns_are_folded_into_lanes_where_that_saves_a_quarter(
    config: MachineConfig, channels: int, kernel: tuple[int, int], stride: tuple[int, int], pads: tuple[int, int, int, int],
    dilation: tuple[int, int], fold: Fold | None,
) -> None:  # fmt: skip
    b = Builder(2)
    op, graph = one(b, b.conv(b.input(20, 22, channels), 16, kernel, stride, pads, dilation))
    assert isinstance(op, Conv)
    found = fold_of(config, op, graph.tensors)
    if fold is None:
        assert found is None
    else:
        assert found is not None
        assert found[0] == replace(fold, fill=op.pad_value)
        vectors = -(-fold.run // config.ic_p)
        outputs = graph.tensors[op.output].height * graph.tensors[op.output].width
        reductions = -(-16 // config.oc_p) * -(-outputs // config.px_p)
        assert found[1].beats == reductions * max(kernel[0] * vectors, conv_drain(config))
    check(config, graph)


def test_windows_are_folded_as_far_as_their_bytes_fit() -> None:
    for kernel, folded in ((6, True), (7, False)):
        b = Builder(2)
        op, graph = one(b, b.conv(b.input(4, 22, 3), 16, (1, kernel)))
        assert (fold_of(replace(BASE, window_bytes=18), op, graph.tensors) is not None) == folded


def test_grouped_convolutions_and_pools_are_not_folded() -> None:
    b = Builder(2)
    op, graph = one(b, b.conv(b.input(6, 22, 4), 16, (3, 3), groups=2))
    assert fold_of(BASE, op, graph.tensors) is None
    b = Builder(2)
    op, graph = one(b, b.transpose(b.input(6, 22, 3), 16))
    assert fold_of(BASE, op, graph.tensors) is None


def test_views_have_no_layer() -> None:
    b = Builder(0)
    op, graph = one(b, b.view(Slice, "some", (b.input(4, 4, 8),), (1, 2, 4, 8), begin=(0, 0, 0), step=(2, 1)))
    with pytest.raises(TilewrightError, match="operation some: Slice has no layer"):
        lower(NANO, op, graph.tensors)


def test_layers_are_values() -> None:
    """Plans that are kept, and compared, share them."""
    assert changeable(compiler.layers) == set()
