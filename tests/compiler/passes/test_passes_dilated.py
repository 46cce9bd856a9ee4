"""Taps that see nothing but padding, and dilated convolutions in classes of rows, against the reference."""

from __future__ import annotations

import random

import numpy as np
import pytest

from compiler.passes.cut_taps import cut_taps
from compiler.passes.split_dilated import split_dilated
from compiler.xgraph.graph import XGraph
from compiler.xgraph.ops import Conv, Finish, Interleave, Requantisation, Window
from compiler.xgraph.reference import execute
from compiler.xgraph.tensor import Quantisation, Tensor
from compiler.xgraph.verify import verify

CHANNELS = 4


def graph_of(
    size: tuple[int, int], window: Window, *, pad_value: int = 0, groups: int = 1, weight_zp: int = 0, bias: int = 3
) -> XGraph:
    """One convolution ``y`` of ``x``."""
    rng = np.random.default_rng(1)
    weights = rng.integers(-9, 10, (CHANNELS, *window.kernel, CHANNELS // groups)).astype(np.int8)
    scale = Requantisation(
        np.full(CHANNELS, bias, np.int32), np.full(CHANNELS, 1 << 23, np.uint32), np.full(CHANNELS, 27, np.uint8)
    )
    (top, left, bottom, right), made = window.pads, []
    for axis, around in enumerate((top + bottom, left + right)):
        span = (window.kernel[axis] - 1) * window.dilation[axis] + 1
        made.append((size[axis] + around - span) // window.stride[axis] + 1)
    tensors = {
        name: Tensor(name, (2, height, width, CHANNELS), Quantisation(0.5, 0))
        for name, (height, width) in {"x": size, "y": made}.items()
    }
    op = Conv("y", ("x",), ("y",), window, weights, scale, Finish(), groups, pad_value, weight_zp)
    return verify(XGraph("g", tensors, (op,), ("x",), ("y",)))


def assert_same(one: XGraph, other: XGraph) -> None:
    x = np.random.default_rng(2).integers(-128, 128, one.tensors["x"].shape).astype(np.int8)
    assert (execute(one, {"x": x})["y"] == execute(verify(other), {"x": x})["y"]).all()


def first(graph: XGraph) -> Conv:
    (op,) = graph.ops
    assert isinstance(op, Conv)
    return op


def random_graph(seed: int) -> XGraph:
    rng = random.Random(seed)
    kernel, dilation = (rng.randint(1, 4), rng.randint(1, 4)), (rng.randint(1, 9), rng.randint(1, 9))
    size = (rng.randint(1, 12), rng.randint(1, 12))
    pads = [0, 0, 0, 0]
    for axis in (0, 1):
        span = (kernel[axis] - 1) * dilation[axis] + 1
        pads[axis] = rng.randint(0, span)
        pads[axis + 2] = max(rng.randint(0, span), span - size[axis] - pads[axis])
    window = Window(kernel, (rng.choice((1, 1, 1, 2)), rng.randint(1, 2)), dilation, (pads[0], pads[1], pads[2], pads[3]))
    return graph_of(
        size, window, pad_value=rng.randint(-128, 127), groups=rng.choice((1, 2, CHANNELS)), weight_zp=rng.randint(-9, 9)
    )


def test_the_function_stays() -> None:
    for seed in range(150):
        graph = random_graph(seed)
        assert_same(graph, cut_taps(graph))
        split = split_dilated(graph, graph.ops[0])
        if split is not None:
            assert_same(graph, split)


def test_most_random_convolutions_that_dilate_are_split() -> None:
    graphs = [graph for seed in range(150) if first(graph := random_graph(seed)).window.dilation[0] > 1]
    dense = [graph for graph in graphs if first(graph).window.stride[0] == 1]
    assert sum(split_dilated(graph, graph.ops[0]) is not None for graph in dense) > len(dense) / 2


def test_three_by_three_on_one_pixel_is_one_by_one() -> None:
    op = first(cut_taps(graph_of((1, 1), Window((3, 3), pads=(1, 1, 1, 1)))))
    assert op.window == Window((1, 1))
    assert op.weights.shape == (CHANNELS, 1, 1, CHANNELS)


def test_a_dilation_beyond_the_map_leaves_the_middle() -> None:
    op = first(cut_taps(graph_of((7, 28), Window((3, 3), (1, 1), (12, 12), (12, 12, 12, 12)))))
    assert op.window == Window((1, 3), (1, 1), (1, 12), (0, 12, 0, 12))
    op = first(cut_taps(graph_of((28, 7), Window((3, 3), (1, 1), (12, 12), (12, 12, 12, 12)))))
    assert op.window == Window((3, 1), (1, 1), (12, 1), (12, 0, 12, 0))


def test_a_window_on_padding_alone_keeps_a_tap() -> None:
    graph = graph_of((1, 5), Window((1, 1), (4, 1), pads=(2, 0, 3, 0)), pad_value=9)
    assert first(cut_taps(graph)).window.kernel == (1, 1)


def test_a_bias_that_would_not_fit_keeps_the_taps() -> None:
    graph = graph_of((1, 1), Window((3, 3), pads=(1, 1, 1, 1)), pad_value=-128, bias=2**31 - 1, weight_zp=100)
    assert cut_taps(graph).ops == graph.ops


@pytest.mark.parametrize("bias", [2**31 - 1, -(2**31)])
def test_a_bias_that_fits_just_so_does_not_keep_them(bias: int) -> None:
    graph = graph_of((1, 1), Window((3, 3), pads=(1, 1, 1, 1)), bias=bias)
    assert first(cut_taps(graph)).window.kernel == (1, 1)


def test_rows_in_classes() -> None:
    graph = graph_of((7, 6), Window((3, 3), (1, 1), (3, 2), (3, 2, 3, 2)))
    split = split_dilated(graph, graph.ops[0])
    assert split is not None
    joined = split.ops[-1]
    assert isinstance(joined, Interleave)
    assert [split.tensors[name].height for name in joined.inputs] == [3, 2, 2]
    convs = [op for op in split.ops if isinstance(op, Conv)]
    assert [op.window.dilation for op in convs] == [(1, 2)] * 3


@pytest.mark.parametrize("window", [Window((3, 3), pads=(1, 1, 1, 1)), Window((3, 3), (2, 1), (2, 2), (2, 2, 2, 2))])
def test_what_does_not_dilate_or_skips_rows_is_left(window: Window) -> None:
    graph = graph_of((9, 9), window)
    assert split_dilated(graph, graph.ops[0]) is None
