"""Bias correction: what rounding the weights adds to the mean of each output, taken off the bias."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from compiler.frontend.model import Node

Float64 = NDArray[np.float64]


def mean_error(node: Node, error: Float64, means: Float64) -> Float64:
    """Of each output of a Conv or Gemm, whose weights are off by ``error``, for inputs with these means by channel.

    As if no window reached beyond the border.
    """
    if node.op_type == "Gemm":
        found: Float64 = error @ means if node.integer("transB", 0) else means @ error
        return found
    groups = node.integer("group", 1)
    outputs, inputs = error.shape[:2]
    taps = error.reshape(groups, outputs // groups, inputs, -1).sum(axis=3)
    return np.asarray(np.einsum("goi,gi->go", taps, means.reshape(groups, inputs)).reshape(-1))
