"""Cuts taps that see nothing but padding. They add a constant, which goes into the bias."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from compiler.xgraph.graph import XGraph
from compiler.xgraph.ops import Conv, Window
from compiler.xgraph.tensor import Tensor

INT32 = np.iinfo(np.int32)


def cut_taps(graph: XGraph) -> XGraph:
    """Cuts taps that see nothing but padding from all convolutions.

    On a map of one pixel a kernel of 3 x 3 becomes one of 1 x 1, and so does one that dilates beyond the map.
    """
    tensors = graph.tensors
    return graph.with_ops(
        with_less_taps(op, tensors[op.inputs[0]], tensors[op.output]) if isinstance(op, Conv) else op for op in graph.ops
    )


def with_less_taps(op: Conv, source: Tensor, target: Tensor) -> Conv:
    """The convolution without the rows and columns at the kernel's edges that see no pixel of the map for any output."""
    rows = _seen(op.window, 0, source.height, target.height)
    columns = _seen(op.window, 1, source.width, target.width)
    kernel = (len(rows), len(columns))
    if kernel == op.window.kernel:
        return op
    kept = op.weights[:, rows.start : rows.stop, columns.start : columns.stop]
    bias = op.requantisation.bias + op.pad_value * (_sums(op, op.weights) - _sums(op, kept))
    if bias.min() < INT32.min or bias.max() > INT32.max:
        return op
    (d_y, d_x), (top, left, bottom, right) = op.window.dilation, op.window.pads
    (k_y, k_x) = op.window.kernel
    pads = (
        top - rows.start * d_y, left - columns.start * d_x,
        bottom - (k_y - rows.stop) * d_y, right - (k_x - columns.stop) * d_x,
    )  # fmt: skip
    dilation = (d_y if kernel[0] > 1 else 1, d_x if kernel[1] > 1 else 1)
    return replace(
        op, window=replace(op.window, kernel=kernel, dilation=dilation, pads=pads), weights=np.ascontiguousarray(kept),
        requantisation=replace(op.requantisation, bias=bias.astype(np.int32)),
    )  # fmt: skip


def _seen(window: Window, axis: int, size: int, made: int) -> range:
    """The taps along an axis from the first to the last that lies within the map for any output. There is at least one."""
    places = np.arange(made) * window.stride[axis] - window.pads[axis]
    taps = [
        tap for tap in range(window.kernel[axis])
        if ((at := places + tap * window.dilation[axis]) >= 0).any() and (at[at >= 0] < size).any()
    ]  # fmt: skip
    return range(taps[0], taps[-1] + 1) if taps else range(1)


def _sums(op: Conv, weights: np.ndarray[tuple[int, ...], np.dtype[np.int8]]) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    """The sum of each output channel's weights."""
    sums: np.ndarray[tuple[int], np.dtype[np.int64]] = (weights.astype(np.int64) - op.weight_zp).sum(axis=(1, 2, 3))
    return sums
