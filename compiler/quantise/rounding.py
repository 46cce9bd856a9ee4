"""Rounds weights to four bits, with a scale for each output, so that the layer's outputs change little.

The rounding is GPTQ's (Frantar et al., arXiv 2210.17323, section 3). Weights are rounded input by input. The inputs that follow
make up for the change of the outputs, as calibration inputs show it. Naive reference: the nearest.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view
from numpy.typing import NDArray

from compiler.frontend.model import Node

Float = NDArray[np.float32]
Float64 = NDArray[np.float64]
Whole = NDArray[np.int8]

LOW, HIGH = -8, 7
SHRINKS = np.linspace(0.5, 1.0, 26)
"""The shares of an output's greatest weight that are tried as the range of its steps."""
MOST_INPUTS = 2400
"""The most inputs of an output; the time for rounding grows with their third power."""
PLACES = 512
"""The number of outputs of a sample at which a layer's inputs are taken."""
DAMPING = 0.01
"""The share of the mean that is added to the products of each input with itself."""
_BLOCK = 128


def steps_of(rows: Float64) -> Float64:
    """The step of each row of weights that leaves the least squared error."""
    greatest = np.abs(rows).max(axis=1)
    greatest[greatest == 0] = 1.0
    best: Float64 = greatest / HIGH
    least = np.full(len(rows), np.inf)
    for shrink in SHRINKS:
        step = shrink * greatest / HIGH
        error = np.square(nearest(rows, step) * step[:, None] - rows).sum(axis=1)
        better = error < least
        best[better], least[better] = step[better], error[better]
    single: Float64 = best.astype(np.float32).astype(np.float64)
    return single


def nearest(rows: Float64, step: Float64) -> Float64:
    """The weights as the nearest whole numbers of steps."""
    found: Float64 = np.clip(np.rint(rows / step[:, None]), LOW, HIGH)
    return found


def rounded(rows: Float64, step: Float64, products: Float64) -> Float64:
    """The weights as whole numbers of steps, rounded with the products of each input with each other, summed over samples."""
    count = len(products)
    damped = products + np.eye(count) * max(DAMPING * float(np.trace(products)) / count, 1e-12)
    order = np.argsort(-np.diag(products), kind="stable")
    upper = np.linalg.cholesky(np.linalg.inv(damped[np.ix_(order, order)])).T
    left, found = rows[:, order].copy(), np.empty_like(rows)
    for first in range(0, count, _BLOCK):
        past = min(first + _BLOCK, count)
        errors = np.empty((len(rows), past - first))
        for column in range(first, past):
            found[:, column] = nearest(left[:, column : column + 1], step)[:, 0]
            errors[:, column - first] = (left[:, column] - found[:, column] * step) / upper[column, column]
            left[:, column:past] -= errors[:, column - first, None] * upper[column, column:past]
        left[:, past:] -= errors @ upper[first:past, past:]
    back = np.empty_like(found)
    back[:, order] = found
    return back


def places_of(node: Node, values: NDArray[np.float32], kernel: Sequence[int], rng: np.random.Generator) -> Float64:
    """The inputs of a dense layer's outputs at some places. Each row has them in the order of an output's weights."""
    if node.op_type != "Conv":
        flat: Float64 = values.reshape(-1, values.shape[-1]).astype(np.float64)
        return np.asarray(flat[rng.permutation(len(flat))[: PLACES * len(values)]])
    rank = len(kernel)
    pads, strides, dilations = (
        node.integers(name, default) for name, default in
        (("pads", (0,) * 2 * rank), ("strides", (1,) * rank), ("dilations", (1,) * rank))
    )  # fmt: skip
    padded = np.pad(values, [(0, 0), (0, 0), *zip(pads[:rank], pads[rank:], strict=True)])
    reach = [(size - 1) * step + 1 for size, step in zip(kernel, dilations, strict=True)]
    windows = sliding_window_view(padded, reach, axis=tuple(range(2, 2 + rank)))
    steps = [slice(None, None, step) for step in (1, 1, *strides, *dilations)]
    windows = windows[tuple(steps)]
    sizes = (windows.shape[0], *windows.shape[2 : 2 + rank])
    drawn = rng.permutation(int(np.prod(sizes)))[: PLACES * sizes[0]]
    image, *place = np.unravel_index(np.sort(drawn), sizes)
    rows = np.moveaxis(windows, 1, 1 + rank)[(image, *place)]
    return np.asarray(rows, np.float64).reshape(len(drawn), -1)


def error_share(rows: Float64, made: Float64, products: Float64) -> float:
    """The squared error of the layer's outputs, as a share of their squares."""
    apart = made - rows
    signal = float(np.einsum("ij,jk,ik->", rows, products, rows, optimize=True))
    return float(np.einsum("ij,jk,ik->", apart, products, apart, optimize=True)) / max(signal, 1e-300)
