"""Convolutions and dense layers: sums of products that are requantised when their output scale is known."""

from __future__ import annotations

from dataclasses import replace
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from compiler.frontend.constraints import dense as dense_rules
from compiler.frontend.constraints import general, windows
from compiler.frontend.constraints.base import require
from compiler.frontend.importer import kernels
from compiler.frontend.importer.context import Context, rule
from compiler.frontend.importer.geometry import window_of
from compiler.frontend.importer.layout import (
    AXES,
    Atom,
    Dim,
    Layout,
    as_bytes,
    axis,
    last_letters_for,
    letters_for,
    map_shape,
    merged,
    plain,
)
from compiler.frontend.importer.moves import reshaped
from compiler.frontend.importer.patches import in_patches, patches
from compiler.frontend.importer.products import product
from compiler.frontend.importer.requantise import output_scale, quantised, requantisation
from compiler.frontend.importer.values import Linear, Mapped, Params
from compiler.frontend.importer.views import arranged, positions
from compiler.frontend.importer.weights import Weights, quantised_weights, real_constant, weights_behind
from compiler.frontend.importer.wide import narrowed
from compiler.frontend.model import MICROSOFT, Node
from compiler.xgraph.ops import Conv, Finish, Requantisation, Reshape, Window

Int64 = NDArray[np.int64]
LONGEST_PIXEL = 65535
"""The most channels that LOAD can bring as one pixel."""


def finished(ctx: Context, value: Linear, params: Params, name: str) -> Mapped:
    """The requantised map; the zero-point is added after rounding."""
    scale = output_scale(value.scale, params)
    require(general.scale_fits, scale)
    bias = value.zero_bias if value.bias is None else value.bias + value.zero_bias
    finish = Finish(params.zero_point, quantised(value.lo, params), quantised(value.hi, params))
    made = value.build(name, requantisation(bias, scale), finish, params)
    if value.source is not None:
        doubts = kernels.resizes_in_doubt(value.source, params, value.mean_of)
        ctx.doubt(ctx.made[made.tensor].name, doubts, 255 * value.mean_of + 1, "sums of neighbours", at_most=True)
    return made


def with_bias(value: Linear, bias: NDArray[np.float64]) -> Linear:
    """The sums with a real bias, one number for each output channel or one for all, in units of the accumulator."""
    units = np.rint(np.broadcast_to(bias.reshape(-1), value.channels) / value.scale.astype(np.float64))
    units = units if value.bias is None else value.bias + units
    require(general.bias_fits, units)
    return replace(value, bias=units.astype(np.int64))


def with_real_bias(ctx: Context, value: Linear, name: str) -> Linear:
    """The sums with a real bias; an empty name stands for none."""
    if not name:
        return value
    bias = real_constant(ctx, name)
    require(general.bias_constant, bias, value.channels)
    assert bias is not None
    return with_bias(value, bias)


def _with_integer_bias(ctx: Context, value: Linear, name: str) -> Linear:
    """The sums with a bias in units of the accumulator; an empty name stands for none."""
    if not name:
        return value
    bias = ctx.constant(name)
    require(general.bias_constant, bias, value.channels)
    assert bias is not None
    return replace(value, bias=np.broadcast_to(bias.astype(np.int64).reshape(-1), value.channels))


def unit_of(params: Params, weights: NDArray[np.float32]) -> NDArray[np.float32]:
    return np.asarray(np.float32(params.scale) * weights)


@rule("Conv")
def conv(ctx: Context, node: Node) -> None:
    x = ctx.mapped(node.inputs[0])
    value = convolution(ctx, node, x, weights_behind(ctx, node.inputs[1]))
    ctx.values[node.output] = with_real_bias(ctx, value, node.input(2))


@rule("QLinearConv")
def qlinear_conv(ctx: Context, node: Node) -> None:
    x = ctx.mapped(node.inputs[0])
    x = replace(x, params=ctx.params(node.inputs[1], node.inputs[2]))
    params = ctx.params(node.inputs[6], node.inputs[7])
    value = convolution(ctx, node, x, quantised_weights(ctx, node.inputs[3], node.inputs[4], node.inputs[5], 0))
    value = _with_integer_bias(ctx, value, node.input(8))
    ctx.values[node.output] = finished(ctx, value, params, node.output)


def convolution(ctx: Context, node: Node, x: Mapped, weights: Weights) -> Linear:
    rank = len(x.shape)
    require(windows.one_or_two_sides, rank)
    letters = letters_for(rank)
    assert letters is not None
    out = ctx.shape(node.output)
    window = window_of(node, x.shape[2:], weights.values.shape[2:], out[2:])
    values = weights.values.reshape(*weights.values.shape[:2], *window.kernel).transpose(0, 2, 3, 1)
    groups = node.integer("group", 1)
    x, target = arranged(ctx, x, letters), map_shape(letters, out)
    made = target
    if in_patches(window, groups):
        x, values, window, made = patches(ctx, x, values, window)
    x, kernel, window = narrowed(ctx, x, values, window, groups)
    require(windows.convolution_fits, window)

    def build(name: str, q: Requantisation, finish: Finish, params: Params) -> Mapped:
        tensor = ctx.tensor(name if made == target else ctx.fresh(f"{name}/patches"), made, params)
        op = Conv(
            node.name, (x.tensor,), (tensor,), window, kernel.stored, q, finish, groups, x.params.zero_point, kernel.zero_point
        )
        result = ctx.add(op, plain(letters, out) if made == target else plain("NHWC", made), params)
        return result if made == target else reshaped(ctx, result, target, plain(letters, out), name)

    zero_bias = -x.params.zero_point * kernel.sums()
    return Linear(build, unit_of(x.params, weights.along(0)), out[1], zero_bias, channel_dim=1, rank=rank)


@rule("Gemm")
def gemm(ctx: Context, node: Node) -> None:
    x = ctx.mapped(node.inputs[0])
    require(dense_rules.plain_gemm, node)
    weights = weights_behind(ctx, node.inputs[1])
    value = dense(ctx, node, x, weights.transposed((1, 0)) if node.integer("transB", 0) else weights)
    ctx.values[node.output] = with_real_bias(ctx, value, node.input(2))


@rule("MatMul")
def matmul(ctx: Context, node: Node) -> None:
    x = ctx.mapped(node.inputs[0])
    other = ctx.value(node.inputs[1])
    if isinstance(other, Mapped):
        ctx.values[node.output] = product(ctx, node, x, other)
    else:
        ctx.values[node.output] = dense(ctx, node, x, weights_behind(ctx, node.inputs[1]))


@rule("QLinearMatMul")
def qlinear_matmul(ctx: Context, node: Node) -> None:
    x = ctx.mapped(node.inputs[0])
    x = replace(x, params=ctx.params(node.inputs[1], node.inputs[2]))
    params = ctx.params(node.inputs[6], node.inputs[7])
    other = ctx.value(node.inputs[3])
    if isinstance(other, Mapped):
        value = product(ctx, node, x, replace(other, params=ctx.params(node.inputs[4], node.inputs[5])))
    else:
        value = dense(ctx, node, x, quantised_weights(ctx, node.inputs[3], node.inputs[4], node.inputs[5], 1))
    ctx.values[node.output] = finished(ctx, value, params, node.output)


@rule("QGemm", domain=MICROSOFT)
def qgemm(ctx: Context, node: Node) -> None:
    x = ctx.mapped(node.inputs[0])
    x = replace(x, params=ctx.params(node.inputs[1], node.inputs[2]))
    require(dense_rules.plain_gemm, node)
    require(dense_rules.quantised_result, node)
    params = ctx.params(node.inputs[7], node.inputs[8])
    turned = node.integer("transB", 0)
    weights = quantised_weights(ctx, node.inputs[3], node.inputs[4], node.inputs[5], 0 if turned else 1)
    value = dense(ctx, node, x, weights.transposed((1, 0)) if turned else weights)
    value = _with_integer_bias(ctx, value, node.input(6))
    ctx.values[node.output] = finished(ctx, value, params, node.output)


def dense(ctx: Context, node: Node, x: Mapped, weights: Weights) -> Linear:
    """A dense layer over the last dimension of ``x``; ``weights`` are inputs x outputs. A flattened map keeps its own order.

    Where the last dimension is the map's channels, pixels stay where they are, whatever dimensions they form.
    """
    require(dense_rules.matrix, weights.values)
    inputs, outputs = weights.values.shape
    letters = last_letters_for(len(x.shape))
    require(dense_rules.dense_rank, letters)
    assert letters is not None
    matrix: NDArray[Any] = weights.values.T
    values: NDArray[Any]
    window = Window((1, 1))
    pixels: tuple[Dim, ...]
    whole = whole_map(ctx, x)
    if whole is not None:
        n, h, w, c = ctx.map_shape(x)
        matrix = matrix.reshape(outputs, *(a.size for a in whole)).transpose(0, *(1 + i for i in memory_rank(x.layout)))
        if h * w * c <= LONGEST_PIXEL:
            x = as_one_pixel(ctx, x)
            values = matrix.reshape(outputs, 1, 1, inputs)
        else:
            values, window = matrix.reshape(outputs, h, w, c), Window((h, w))
        target, pixels = (n, 1, 1, outputs), (axis("N", n),)
    else:
        if inputs == 1 or x.layout.dims[-1] != axis("C", ctx.map_shape(x)[3]):
            found = _in_pixels(ctx, x)
            x, order = found if found is not None else (arranged(ctx, x, letters), np.arange(inputs))
            matrix = matrix[:, order]
        values = matrix.reshape(outputs, 1, 1, inputs)
        target, pixels = (*ctx.map_shape(x)[:3], outputs), x.layout.dims[:-1]
    out = ctx.shape(node.output)
    layout = Layout((*pixels, axis("C", outputs)))
    x, kernel, window = narrowed(ctx, x, values, window, 1)

    def build(name: str, q: Requantisation, finish: Finish, params: Params) -> Mapped:
        tensor = ctx.tensor(name, target, params)
        op = Conv(
            node.name, (x.tensor,), (tensor,), window, kernel.stored, q, finish, 1, x.params.zero_point, kernel.zero_point
        )
        return ctx.add(op, layout, params)

    zero_bias = -x.params.zero_point * kernel.sums()
    return Linear(build, unit_of(x.params, weights.along(1)), outputs, zero_bias, channel_dim=len(out) - 1, rank=len(out))


def _in_pixels(ctx: Context, x: Mapped) -> tuple[Mapped, NDArray[np.int64]] | None:
    """The tensor in a map of one image whose pixels are rows of its last dimension, and the input that each channel is.

    None if no view gives that.
    """
    shape = ctx.map_shape(x)
    inputs, last = x.shape[-1], as_bytes(x.layout.dims[-1], shape)
    places = np.array(positions(last), np.int64)
    if shape[0] > 1 or inputs == prod(shape) or prod(shape) % inputs or places.max() != inputs - 1:
        return None
    pixels = [as_bytes(dim, shape) for dim in x.layout.dims[:-1]]
    if prod(shape) // inputs > general.MOST_SIDE or any(atom.stride % inputs for dim in pixels for atom in dim):
        return None
    rows = tuple(merged(Atom("W", atom.stride // inputs, atom.size) for atom in dim) for dim in pixels)
    where = (1, 1, prod(shape) // inputs, inputs)
    return reshaped(ctx, x, where, Layout((*rows, axis("C", inputs)))), np.argsort(places)


def whole_map(ctx: Context, x: Mapped) -> Dim | None:
    """The atoms of the last dimension, if it runs over all pixels and channels of each batch element."""
    n, h, w, c = ctx.map_shape(x)
    dims = x.layout.dims
    if len(dims) != 2 or dims[0] != axis("N", n) or h * w == 1 or prod(a.size for a in dims[1]) != h * w * c:
        return None
    return dims[1] if all(a.axis in "HWC" for a in dims[1]) else None


def memory_rank(layout: Layout) -> list[int]:
    """The indices of the last dimension's atoms, in the order of the map's bytes."""
    atoms = layout.dims[1]
    return sorted(range(len(atoms)), key=lambda i: (AXES.index(atoms[i].axis), -atoms[i].stride))


def as_one_pixel(ctx: Context, x: Mapped) -> Mapped:
    n, h, w, c = ctx.map_shape(x)
    shape = (n, 1, 1, h * w * c)
    name = ctx.tensor(ctx.fresh(f"{x.tensor}/flat"), shape, ctx.stored(x))
    return ctx.add(Reshape(name, (x.tensor,), (name,)), plain("NC", (n, h * w * c)), x.params, computed=x.computed)
