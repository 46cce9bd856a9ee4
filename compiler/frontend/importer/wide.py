"""Weights that need nine bits (uint8 minus a zero-point): each is the sum of two int8 weights on the same input.

A dense layer gets the few input channels that such weights read a second time, behind the others. A grouped one
reads every pixel twice, side by side, through a kernel of twice the width.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from compiler.frontend.constraints import general
from compiler.frontend.constraints.base import require
from compiler.frontend.importer.context import Context
from compiler.frontend.importer.layout import plain
from compiler.frontend.importer.values import Mapped
from compiler.frontend.importer.views import joined, selected
from compiler.xgraph.ops import Upsample, Window

Int16 = NDArray[np.int16]
Int8 = NDArray[np.int8]


def narrowed(ctx: Context, x: Mapped, kernel: Int16 | Int8, window: Window, groups: int) -> tuple[Mapped, Int8, Window]:
    """Input map, int8 kernel (outputs x rows x columns x inputs) and window that compute the same sums."""
    if kernel.dtype == np.int8:
        return x, kernel.astype(np.int8, copy=False), window
    low: Int16 = np.clip(kernel.astype(np.int16), -128, 127)
    high: Int16 = kernel - low
    if not high.any():
        return x, low.astype(np.int8), window
    require(general.weights_fit, high)
    if groups == 1:
        return _channels_twice(ctx, x, low, high, window)
    return _pixels_twice(ctx, x, low, high, window)


def _channels_twice(ctx: Context, x: Mapped, low: Int16, high: Int16, window: Window) -> tuple[Mapped, Int8, Window]:
    n, h, w, c = ctx.map_shape(x)
    again = np.flatnonzero(high.any(axis=(0, 1, 2)))
    copies = selected(ctx, x, [int(channel) for channel in again], plain("NHWC", (n, h, w, len(again))))
    shape = (n, h, w, c + len(again))
    both = joined(ctx, [x, copies], shape, plain("NHWC", shape))
    return both, np.concatenate([low, high[..., again]], axis=3).astype(np.int8), window


def _pixels_twice(ctx: Context, x: Mapped, low: Int16, high: Int16, window: Window) -> tuple[Mapped, Int8, Window]:
    n, h, w, c = ctx.map_shape(x)
    outputs, k_h, k_w, inputs = low.shape
    d = window.dilation[1]
    shape = (n, h, 2 * w, c)
    name = ctx.tensor(ctx.fresh(f"{x.tensor}/twice"), shape, ctx.stored(x))
    twice = ctx.add(Upsample(name, (x.tensor,), (name,), (1, 2)), plain("NHWC", shape), x.params)
    kernel = np.zeros((outputs, k_h, 2 * ((k_w - 1) * d + 1), inputs), np.int8)
    kernel[:, :, 0 :: 2 * d] = low
    kernel[:, :, 1 :: 2 * d] = high
    top, left, bottom, right = window.pads
    wide = Window(
        (k_h, kernel.shape[2]),
        (window.stride[0], 2 * window.stride[1]),
        (window.dilation[0], 1),
        (top, 2 * left, bottom, 2 * right),
    )
    return twice, kernel, wide
