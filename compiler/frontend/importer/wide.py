"""Weights that need nine bits (uint8 minus a zero-point), as int8 weights with one zero-point.

CONV and POOL subtract one zero-point from all weights of a layer, at no cost. That is enough where the layer's weights span at
most 255. Where the zero-points of output channels differ and the weights span more, a weight that does not fit is written as
the sum of two weights on the same input. A dense layer reads the few input channels with such weights a second time, behind the
others. A grouped layer reads every pixel twice, side by side, through a kernel of twice the width.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from compiler.frontend.constraints import general
from compiler.frontend.constraints.base import require
from compiler.frontend.importer.context import Context
from compiler.frontend.importer.layout import plain
from compiler.frontend.importer.moves import joined
from compiler.frontend.importer.values import Mapped
from compiler.frontend.importer.views import selected
from compiler.xgraph.ops import Upsample, Window

Int64 = NDArray[np.int64]
Int16 = NDArray[np.int16]
Int8 = NDArray[np.int8]
LEAST, MOST = -128, 127
FOUR_BITS = -8, 7


@dataclass(frozen=True, eq=False)
class Kernel:
    """A kernel whose weights are ``stored - zero_point``: outputs x rows x columns x inputs of a group."""

    stored: Int8
    zero_point: int = 0

    def sums(self) -> Int64:
        """The sum of each output channel's weights."""
        found: Int64 = self.stored.sum(axis=(1, 2, 3), dtype=np.int64) - self.zero_point * self.stored[0].size
        return found


def kernel_of(weights: Int16 | Int8) -> Kernel:
    """The kernel with the zero-point nearest to 0 that brings all weights, and 0, into four bits, or else into int8."""
    low, high = int(weights.min(initial=0)), int(weights.max(initial=0))
    least, most = FOUR_BITS if high - low < 16 else (LEAST, MOST)
    zero_point = max(0, least - low) + min(0, most - high)
    stored = weights.astype(np.int16) + zero_point
    require(general.weights_fit, stored)
    return Kernel(np.ascontiguousarray(stored.astype(np.int8)), zero_point)


def narrowed(ctx: Context, x: Mapped, weights: Int16 | Int8, window: Window, groups: int) -> tuple[Mapped, Kernel, Window]:
    """The map, kernel and window that compute the same sums with int8 weights."""
    span = int(weights.max(initial=0)) - int(weights.min(initial=0))
    if span <= MOST - LEAST:
        return x, kernel_of(weights), window
    zero_point = _best_zero_point(weights)
    low: Int16 = np.clip(weights.astype(np.int16), LEAST - zero_point, MOST - zero_point)
    high: Int16 = weights - low
    require(general.weights_fit, high + zero_point)
    if groups == 1:
        x, both = _channels_twice(ctx, x, low, high)
    else:
        x, both, window = _pixels_twice(ctx, x, low, high, window)
    return x, Kernel((both + zero_point).astype(np.int8), zero_point), window


def _best_zero_point(weights: Int16 | Int8) -> int:
    """The zero-point that leaves the fewest input channels with a weight outside of int8, if the rest of each weight fits."""
    low, high = (end(weights.astype(np.int16), axis=(0, 1, 2)) for end in (np.min, np.max))
    candidates = [z for z in range(LEAST, MOST + 1) if low.min() + 2 * z >= 2 * LEAST and high.max() + 2 * z <= 2 * MOST]
    left = {z: int(((low + z < LEAST) | (high + z > MOST)).sum()) for z in candidates}
    return min(left, key=lambda z: (left[z], abs(z)), default=0)


def _channels_twice(ctx: Context, x: Mapped, low: Int16, high: Int16) -> tuple[Mapped, Int16]:
    n, h, w, c = ctx.map_shape(x)
    again = np.flatnonzero(high.any(axis=(0, 1, 2)))
    copies = selected(ctx, x, [int(channel) for channel in again], plain("NHWC", (n, h, w, len(again))))
    shape = (n, h, w, c + len(again))
    both = joined(ctx, [x, copies], shape, plain("NHWC", shape))
    return both, np.concatenate([low, high[..., again]], axis=3)


def _pixels_twice(ctx: Context, x: Mapped, low: Int16, high: Int16, window: Window) -> tuple[Mapped, Int16, Window]:
    n, h, w, c = ctx.map_shape(x)
    outputs, k_h, k_w, inputs = low.shape
    d = window.dilation[1]
    shape = (n, h, 2 * w, c)
    name = ctx.tensor(ctx.fresh(f"{x.tensor}/twice"), shape, ctx.stored(x))
    twice = ctx.add(Upsample(name, (x.tensor,), (name,), (1, 2)), plain("NHWC", shape), x.params)
    kernel = np.zeros((outputs, k_h, 2 * ((k_w - 1) * d + 1), inputs), np.int16)
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
