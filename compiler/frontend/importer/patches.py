"""Convolutions whose windows neither overlap nor leave gaps, at wide strides: the patches of transformers.

An image alone fills three channel lanes. Here the pixels of a patch's row fill the lanes. In memory these pixels are
neighbours, and so are the rows of a patch. So a map of ``n`` images of ``h x w`` pixels and ``c`` channels holds the same bytes
as ``n h / k_h`` images of ``k_h x (w / k_w)`` pixels and ``k_w c`` channels. On that map the convolution has a kernel of one
column, and one row of results in each image.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from compiler.frontend.importer.context import Context
from compiler.frontend.importer.layout import Shape4, plain
from compiler.frontend.importer.moves import reshaped, sliced
from compiler.frontend.importer.values import Mapped
from compiler.frontend.importer.weights import Int8, Int16
from compiler.xgraph.ops import Window

WIDE_STRIDE = 16


def in_patches(window: Window, groups: int) -> bool:
    """Whether the convolution is computed in patches."""
    apart = window.kernel == window.stride and not any(window.pads) and groups == 1
    return apart and max(window.stride) >= WIDE_STRIDE


def patches(ctx: Context, x: Mapped, weights: Int16 | Int8, window: Window) -> tuple[Mapped, NDArray[Any], Window, Shape4]:
    """The map, the weights and the window of the same convolution, and the shape of its result."""
    n, h, w, c = ctx.map_shape(x)
    (k_h, k_w), outputs = window.kernel, len(weights)
    rows, columns = h // k_h, w // k_w
    if (rows * k_h, columns * k_w) != (h, w):
        shape = (n, rows * k_h, columns * k_w, c)
        x = sliced(ctx, x, (0, 0, 0), (1, 1), shape, plain("NHWC", shape))
    cut = (n * rows, k_h, columns, k_w * c)
    kernel: NDArray[Any] = np.ascontiguousarray(weights).reshape(outputs, k_h, 1, k_w * c)
    return reshaped(ctx, x, cut, plain("NHWC", cut)), kernel, Window((k_h, 1)), (n * rows, 1, columns, outputs)
