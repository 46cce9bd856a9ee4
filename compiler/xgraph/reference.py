"""Computes a graph plainly: one NumPy function for each operation, for tests and for finding a first difference."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from compiler.xgraph.graph import XGraph
from compiler.xgraph.long_conv import BYTE, LongConv, split
from compiler.xgraph.ops import (
    Concat,
    Constant,
    Conv,
    ConvTranspose,
    Eltwise,
    EltwiseKind,
    Finish,
    Interleave,
    Op,
    Pool,
    PoolKind,
    Requantisation,
    Reshape,
    Slice,
    Upsample,
    Window,
)
from compiler.xgraph.products import Product
from compiler.xgraph.row_operations import Normalisation, Softmax, normalisation, softmax
from isa.errors import TilewrightError

Int8 = NDArray[np.int8]
Int64 = NDArray[np.int64]
Shape = tuple[int, int, int, int]


def execute(graph: XGraph, inputs: Mapping[str, Int8]) -> dict[str, Int8]:
    """All maps of a graph without CPU parts."""
    values = dict(inputs)
    for op in graph.ops:
        shape = graph.tensors[op.output].shape
        values[op.output] = execute_op(op, [values[name] for name in op.inputs], shape)
    return values


def execute_op(op: Op, inputs: list[Int8], shape: Shape) -> Int8:
    if type(op) not in COMPUTED:
        raise TilewrightError(f"operation {op.name}: {type(op).__name__} has no reference")
    return COMPUTED[type(op)](op, inputs, shape)


def _conv(op: Conv, inputs: list[Int8], shape: Shape) -> Int8:
    taps = _windows(inputs[0], op.window, shape[1:3], op.pad_value)
    weights = op.weights - np.int64(op.weight_zp)
    return _finish(_requantise(_convolve(taps, weights, op.groups), op.requantisation), op.finish)


def _long_conv(op: LongConv, inputs: list[Int8], shape: Shape) -> Int8:
    taps = _windows(inputs[0], op.window, shape[1:3], op.pad_value)
    if op.x16:
        low = np.tile(np.repeat([True, False], op.lanes), taps.shape[-1] // (2 * op.lanes))
        outside = ~_windows(np.ones_like(inputs[0]), op.window, shape[1:3], 0).astype(bool)
        taps = np.where(outside & low, op.pad_low, taps)
        apart = taps.reshape(*taps.shape[:-1], -1, 2, op.lanes)
        taps = (apart[..., 0, :] + BYTE * apart[..., 1, :]).reshape(*taps.shape[:-1], -1)
    q, finish = op.requantisation, op.finish
    scale = np.ldexp(q.mantissa.astype(np.float64), -q.shift.astype(np.int64)).astype(np.float32)
    total = (_convolve(taps, op.weights.astype(np.int64), op.groups) + q.bias).astype(np.float32)
    r = np.clip(np.rint(total * scale), -(1 << 16), (1 << 16) - 1).astype(np.int64)
    if not op.y16:
        return _finish(r, finish)
    return split(np.minimum(np.maximum(r + finish.zero_point, finish.lo), finish.hi), op.lanes)


def _conv_transpose(op: ConvTranspose, inputs: list[Int8], shape: Shape) -> Int8:
    return _finish(_requantise(_transpose(inputs[0], op, shape), op.requantisation), op.finish)


def _product(op: Product, inputs: list[Int8], shape: Shape) -> Int8:
    first, second = inputs
    x = first.astype(np.int64) - op.a_zp
    w = second.reshape(-1, second.shape[3]).astype(np.int64) - op.b_zp
    scale = Requantisation(np.zeros(1, np.int32), np.array([op.mantissa], np.uint32), np.array([op.shift], np.uint8))
    return _finish(_requantise(x @ (w.T if op.turned else w), scale), op.finish)


def _upsample(op: Upsample, inputs: list[Int8], shape: Shape) -> Int8:
    return inputs[0].repeat(op.factor[0], axis=1).repeat(op.factor[1], axis=2)


def _concat(op: Concat, inputs: list[Int8], shape: Shape) -> Int8:
    return np.concatenate(inputs, axis=op.axis)


def _slice(op: Slice, inputs: list[Int8], shape: Shape) -> Int8:
    (y, x, c), (s_y, s_x) = op.begin, op.step
    return np.ascontiguousarray(inputs[0][:, y::s_y, x::s_x, c:][:, : shape[1], : shape[2], : shape[3]])


def _reshape(op: Reshape, inputs: list[Int8], shape: Shape) -> Int8:
    return inputs[0].reshape(shape)


def _constant(op: Constant, inputs: list[Int8], shape: Shape) -> Int8:
    return op.values


def _interleave(op: Interleave, inputs: list[Int8], shape: Shape) -> Int8:
    out = np.empty(shape, np.int8)
    for index, part in enumerate(inputs):
        (b_y, b_x), (y, x) = op.block, divmod(index, op.block[1])
        out[:, y::b_y, x::b_x] = part
    return out


def _windows(x: Int8, window: Window, size: tuple[int, int], pad_value: int) -> Int64:
    """The windows as batch x rows x columns x kernel rows x kernel columns x channels."""
    (k_h, k_w), (s_y, s_x), (d_y, d_x) = window.kernel, window.stride, window.dilation
    n, h, w, c = x.shape
    out = np.full((n, *size, k_h, k_w, c), pad_value, np.int64)
    for ky in range(k_h):
        for kx in range(k_w):
            iy = np.arange(size[0]) * s_y - window.pads[0] + ky * d_y
            ix = np.arange(size[1]) * s_x - window.pads[1] + kx * d_x
            rows, columns = (iy >= 0) & (iy < h), (ix >= 0) & (ix < w)
            out[:, np.ix_(rows, columns)[0], np.ix_(rows, columns)[1], ky, kx] = x[:, iy[rows]][:, :, ix[columns]]
    return out


def _convolve(taps: Int64, weights: Int64, groups: int) -> Int64:
    n, h, w, _, _, c = taps.shape
    outputs = len(weights) // groups
    parts = []
    for g in range(groups):
        inputs = taps[..., g * (c // groups) : (g + 1) * (c // groups)].reshape(n * h * w, -1)
        kernel = weights[g * outputs : (g + 1) * outputs].astype(np.float64).reshape(outputs, -1)
        # float64 sums of such products are exact far beyond any reduction here.
        parts.append((inputs.astype(np.float64) @ kernel.T).astype(np.int64))
    return np.concatenate(parts, axis=1).reshape(n, h, w, -1)


def _transpose(x: Int8, op: ConvTranspose, shape: Shape) -> Int64:
    """Scatters each input pixel; pixels outside the input are padding with ``pad_value``."""
    (k_h, k_w), (s_y, s_x), (d_y, d_x) = op.window.kernel, op.window.stride, op.window.dilation
    n, h, w, c = x.shape
    reach_y, reach_x = k_h * d_y, k_w * d_x
    padded = np.full((n, h + 2 * reach_y, w + 2 * reach_x, c), op.pad_value, np.int8)
    padded[:, reach_y : reach_y + h, reach_x : reach_x + w] = x
    out = np.zeros(shape, np.int64)
    weights = op.weights - np.int64(op.weight_zp)
    for ky in range(k_h):
        for kx in range(k_w):
            tap = _convolve(padded[:, :, :, None, None].astype(np.int64), weights[:, ky : ky + 1, kx : kx + 1], op.groups)
            for iy in range(padded.shape[1]):
                oy = (iy - reach_y) * s_y - op.window.pads[0] + ky * d_y
                if not 0 <= oy < shape[1]:
                    continue
                for ix in range(padded.shape[2]):
                    ox = (ix - reach_x) * s_x - op.window.pads[1] + kx * d_x
                    if 0 <= ox < shape[2]:
                        out[:, oy, ox] += tap[:, iy, ix]
    return out


def _requantise(acc: Int64, q: Requantisation) -> Int64:
    total = (acc + q.bias).astype(np.int32)
    scale = np.ldexp(q.mantissa.astype(np.float64), -q.shift.astype(np.int64)).astype(np.float32)
    with np.errstate(under="ignore"):
        return _round(total.astype(np.float32) * scale)


def _round(value: NDArray[np.float32]) -> Int64:
    return np.clip(np.rint(value), -32768, 32767).astype(np.int64)


def _finish(r: Int64, finish: Finish) -> Int8:
    y = np.minimum(np.maximum(r + finish.zero_point, finish.lo), finish.hi).astype(np.int8)
    return y if finish.table is None else finish.table[y.view(np.uint8)]


def _pool(op: Pool, inputs: list[Int8], shape: Shape) -> Int8:
    x = inputs[0]
    taps = _windows(x, op.window, shape[1:3], op.pad_value)
    if op.kind is PoolKind.MAX:
        return _finish(taps.max(axis=(3, 4)), op.finish)
    inside = _windows(np.ones_like(x), op.window, shape[1:3], int(op.count_pad)).astype(bool)
    counts = inside[..., 0].sum(axis=(3, 4))
    total = np.where(inside, taps, 0).sum(axis=(3, 4))
    out = np.zeros(shape, np.int8)
    for count in np.unique(counts):
        bias, mantissa, shift = op.scales.get(int(count), (0, 0, 0))
        one = Requantisation(np.array([bias], np.int32), np.array([mantissa], np.uint32), np.array([shift], np.uint8))
        where = counts == count
        out[where] = _finish(_requantise(total[where], one), op.finish)
    return out


def _eltwise(op: Eltwise, inputs: list[Int8], shape: Shape) -> Int8:
    x, *others = (source - np.int64(zp) for source, zp in zip(inputs, (op.a_zp, op.b_zp), strict=False))
    match op.kind, others:
        case EltwiseKind.PASS, []:
            total = x * op.m_a
        case EltwiseKind.SUM, []:
            total = inputs[0].sum(axis=3, keepdims=True, dtype=np.int64) * op.m_a
        case EltwiseKind.HIGHEST, []:
            total = inputs[0].max(axis=3, keepdims=True).astype(np.int64) * op.m_a
        case EltwiseKind.ADD, [y]:
            total = x * op.m_a + y * op.m_b
        case EltwiseKind.MUL, [y]:
            total = x * y * op.m_a
        case EltwiseKind.MAX, [y]:
            total = np.maximum(x * op.m_a, y * op.m_b)
        case EltwiseKind.MIN, [y]:
            total = np.minimum(x * op.m_a, y * op.m_b)
        case EltwiseKind.SLOPE, [y]:
            total = np.where(x < 0, x * y * op.m_a, x * op.m_b)
        case kind, _:
            raise AssertionError(kind)
    total = total + op.c
    rounded = np.rint(np.ldexp(total.astype(np.float64), -op.shift).astype(np.float32)).astype(np.int64)
    return _finish(np.clip(rounded, -32768, 32767), op.finish)


Computed = Callable[[Any, list[Int8], Shape], Int8]
COMPUTED: dict[type[Op], Computed] = {
    Conv: _conv, ConvTranspose: _conv_transpose, Pool: _pool, Eltwise: _eltwise, Upsample: _upsample, Concat: _concat,
    Slice: _slice, Reshape: _reshape, Interleave: _interleave, Constant: _constant, Softmax: softmax,
    Normalisation: normalisation, Product: _product, LongConv: _long_conv,
}  # fmt: skip
"""For each kind of operation, the function that computes its result, in the result's shape, from its operands."""
