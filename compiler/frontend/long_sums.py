"""Layers of 16-bit activations as sums of products: every operator becomes a convolution."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from compiler.frontend.constraints import dense, general, windows
from compiler.frontend.constraints import long_layers as constraints
from compiler.frontend.constraints.base import require
from compiler.frontend.importer.context import Context
from compiler.frontend.importer.geometry import window_of
from compiler.frontend.importer.weights import real_constant, weights_behind
from compiler.frontend.long_writer import Ends, Form, Shape4, channels_last, form_of
from compiler.frontend.model import Node
from compiler.xgraph.ops import Int8, Window

CONVOLUTION, DENSE = ("Conv",), ("Gemm", "MatMul")
AVERAGES = ("AveragePool", "GlobalAveragePool", "ReduceMean")
SUMS = ("Add",)


@dataclass(frozen=True, eq=False)
class Sums:
    """A layer as products and their sums.

    ``weights`` are output x input of its group x kernel, without zero-points. ``scale`` is that of each output, in steps of the
    result. ``window`` has the strides of the model, for onnxruntime uses them even where there is one step. ``inputs`` is the
    number of products of each output in the model.
    """

    weights: NDArray[np.int16]
    scale: NDArray[np.float32]
    bias: NDArray[np.int64]
    window: Window
    groups: int
    inputs: int


def form_at(ctx: Context, node: Node, name: str) -> Form:
    """The form of an input or output; matrices have their channels last."""
    shape = ctx.shape(name)
    return form_of(shape, channels_last(len(shape)) if node.op_type in DENSE else ())


def sums_of(ctx: Context, node: Node, xs: tuple[Ends, ...], y: Ends, shapes: tuple[Shape4, Shape4]) -> Sums:
    """The sums of a layer. ``xs`` are the operands that constants multiply.

    An Add has two, each with channels of whole words; other layers have one.
    """
    if node.op_type in CONVOLUTION:
        return _convolution(ctx, node, xs[0], y, shapes)
    if node.op_type in DENSE:
        return _dense(ctx, node, xs[0], y, shapes[0])
    return _sum(xs, y, shapes[0][1], shapes[1][1]) if node.op_type in SUMS else _average(ctx, node, xs[0], y, shapes)


def _convolution(ctx: Context, node: Node, x: Ends, y: Ends, shapes: tuple[Shape4, Shape4]) -> Sums:
    given = weights_behind(ctx, node.inputs[1])
    kernel = given.values.shape[2:]
    size, out = (shape[4 - len(kernel) :] for shape in shapes)
    values = given.values.reshape(*given.values.shape[:2], *((1,) * (2 - len(kernel))), *kernel)
    window = window_of(node, size, kernel, out)
    require(windows.convolution_fits, window)
    window = _as_written(node, window)
    unit = x.scale * given.along(0)
    return _products(ctx, node, values, unit, y, window, node.integer("group", 1))


def _as_written(node: Node, window: Window) -> Window:
    first, second = (1, 1, *node.integers("strides", (1, 1)))[-2:]
    return replace(window, stride=(first, second))


def _dense(ctx: Context, node: Node, x: Ends, y: Ends, shape: Shape4) -> Sums:
    """The sums of a dense layer on the channels of each pixel, or on a flattened map, where the weights are a kernel."""
    given = weights_behind(ctx, node.inputs[1])
    require(general.weights_constant, given if given.values.ndim == 2 else None)
    require(dense.plain_gemm, node)
    turned = given if node.integer("transB", 0) else given.transposed((1, 0))
    outputs, inputs = turned.values.shape
    kernel = (1, 1) if inputs == shape[1] else shape[2:]
    values = turned.values.reshape(outputs, shape[1], *kernel)
    return _products(ctx, node, values, x.scale * turned.along(0), y, Window(kernel), 1)


def _products(
    ctx: Context, node: Node, values: NDArray[np.int16] | Int8, unit: NDArray[np.float32], y: Ends, window: Window, groups: int
) -> Sums:
    outputs, inputs = values.shape[:2]
    scale = np.broadcast_to(unit / y.scale, outputs).astype(np.float32)
    return Sums(values.astype(np.int16), scale, _bias(ctx, node, unit, outputs), window, groups, inputs)


def _bias(ctx: Context, node: Node, unit: NDArray[np.float32], channels: int) -> NDArray[np.int64]:
    if not node.input(2):
        return np.zeros(channels, np.int64)
    bias = real_constant(ctx, node.input(2))
    require(general.bias_constant, bias, channels)
    assert bias is not None
    units = np.rint(np.broadcast_to(bias.reshape(-1), channels) / unit.astype(np.float64))
    require(general.bias_fits, units)
    return units.astype(np.int64)


def _average(ctx: Context, node: Node, x: Ends, y: Ends, shapes: tuple[Shape4, Shape4]) -> Sums:
    """The sums of an average: weights of 1, and a scale for the number of pixels."""
    (_, channels, *size), (_, _, *out) = shapes
    if node.op_type == "AveragePool":
        kernel = node.integers("kernel_shape", ())
        window = window_of(node, size[2 - len(kernel) :], kernel, out[2 - len(kernel) :])
        pads, counted = window.pads, bool(node.integer("count_include_pad", 0))
        ends = [(out[side] - 1) * window.stride[side] + window.reach(side) + 1 - pads[side] for side in (0, 1)]
        require(constraints.long_counted, not counted and (any(pads) or any(np.greater(ends, size))))
        if any(np.greater(ends, np.add(size, pads[2:]))):
            require(windows.counted_inside)
    else:
        require(windows.reduces_space, _reduced(ctx, node))
        window = Window((size[0], size[1]))
    require(windows.window_fits, window)
    window = _as_written(node, window)
    weights = np.ones((channels, 1, *window.kernel), np.int16)
    scale = np.full(channels, x.scale / (y.scale * np.float32(math.prod(window.kernel))), np.float32)
    return Sums(weights, scale, np.zeros(channels, np.int64), window, channels, 0)


def _reduced(ctx: Context, node: Node) -> set[str]:
    """The letters of the dimensions that a mean goes over."""
    rank = len(ctx.shape(node.inputs[0]))
    if node.op_type == "GlobalAveragePool":
        return {"H", "W"}
    given = ctx.constant(node.input(1))
    axes = [int(axis) for axis in given.reshape(-1)] if given is not None else node.integers("axes", range(rank))
    names = "NCHW" if rank == 4 else "NCW"
    return {names[axis % rank] for axis in axes} | (set() if rank == 4 else {"H"})


def _sum(xs: tuple[Ends, ...], y: Ends, inputs: int, outputs: int) -> Sums:
    """The sums of an Add: two whole weights for each output, in the ratio of the scales. Both use the first zero-point."""
    first, second = xs
    ratio = Fraction(float(first.scale) / float(second.scale)).limit_denominator(constraints.MOST_RATIO)
    require(constraints.long_ratio, ratio, first.scale, second.scale)
    one = np.eye(outputs, inputs, dtype=np.int16)[:, :, None, None]
    weights = np.concatenate([one * ratio.numerator, one * ratio.denominator], axis=1)
    unit = np.float32(float(first.scale) / ratio.numerator)
    bias = ratio.denominator * (first.zero_point - second.zero_point)
    return Sums(weights, np.full(outputs, unit / y.scale, np.float32), np.full(outputs, bias, np.int64), Window((1, 1)), 1, 0)


def in_words(sums: Sums, lanes: int, long: tuple[bool, bool]) -> Sums:
    """The sums with channels in whole words of ``lanes`` for inputs and outputs that are ``long``, and groups in whole words.

    Where words hold channels of several groups, zero weights stand between them. If groups do not divide into such words, all
    become one group.
    """
    each = sums.weights.shape[1], len(sums.weights) // sums.groups
    joined = math.lcm(*(lanes // math.gcd(lanes, count) for count, wide in zip(each, long, strict=True) if wide))
    alone = [sums.groups * count for count in each]
    filled = [count + (-count % lanes if wide else 0) for count, wide in zip(alone, long, strict=True)]
    groups = -(-sums.groups // joined)
    if any(groups * joined * count != whole for count, whole in zip(each, filled, strict=True)):
        groups, joined = 1, sums.groups
    require(constraints.long_group, sums.groups, filled[0] // groups)
    weights = np.zeros((filled[1], filled[0] // groups, *sums.window.kernel), np.int16)
    for number in range(sums.groups):
        (inputs, outputs), place = each, number % joined
        rows = slice(number * outputs, (number + 1) * outputs)
        weights[rows, place * inputs : (place + 1) * inputs] = sums.weights[rows]
    more = (0, filled[1] - len(sums.scale))
    return Sums(weights, np.pad(sums.scale, more), np.pad(sums.bias, more), sums.window, groups, sums.inputs)
