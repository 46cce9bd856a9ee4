"""Transposed convolution; with a zero-point, it is one convolution for each phase of the output."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from compiler.frontend.constraints import windows
from compiler.frontend.constraints.base import require
from compiler.frontend.importer.context import Context, rule
from compiler.frontend.importer.layout import letters_for, map_shape, plain
from compiler.frontend.importer.linear import unit_of, with_real_bias
from compiler.frontend.importer.moves import joined, sliced
from compiler.frontend.importer.values import Linear, Mapped, Params
from compiler.frontend.importer.views import arranged
from compiler.frontend.importer.weights import weights_behind
from compiler.frontend.importer.wide import Int16, Kernel, kernel_of
from compiler.frontend.model import Node
from compiler.xgraph.ops import Conv, ConvTranspose, Finish, Requantisation, Window

PHASES = "/phase"
"""Stands between the name of a map and the two digits of a convolution that makes a part of it."""

Int8 = NDArray[np.int8]


@rule("ConvTranspose")
def conv_transpose(ctx: Context, node: Node) -> None:
    x = ctx.mapped(node.inputs[0])
    rank = len(x.shape)
    require(windows.one_or_two_sides, rank)
    letters = letters_for(rank)
    assert letters is not None
    weights = weights_behind(ctx, node.inputs[1])
    groups = node.integer("group", 1)
    out = ctx.shape(node.output)
    window = _window(node, x.shape[2:], weights.values.shape[2:], out[2:])
    kernel = kernel_of(_kernel(weights.values, groups, window.kernel))
    scale = weights.along(1)
    if groups > 1 and scale.size > 1:
        scale = np.tile(scale, groups)
    x = arranged(ctx, x, letters)
    shape = map_shape(letters, out)
    zero = x.params.zero_point

    def build(name: str, q: Requantisation, finish: Finish, params: Params) -> Mapped:
        if zero and window.stride != (1, 1):
            made = _phases(ctx, node, x, window, kernel, q, finish, params, name, letters, out, groups)
        else:
            tensor = ctx.tensor(name, shape, params)
            op = ConvTranspose(
                node.name, (x.tensor,), (tensor,), window, kernel.stored, q, finish, _extra(window, ctx.map_shape(x), shape),
                groups, zero, kernel.zero_point,
            )  # fmt: skip
            made = ctx.add(op, plain(letters, out), params)
        if not _powers_of_two(np.float64(x.params.scale) * scale, params.scale):
            # onnxruntime has no integer kernel for it: it adds products of float32 numbers, and rounds each sum.
            ctx.inexact[ctx.made[made.tensor].name] = "sums that float32 rounds on the way"
        return made

    sums = kernel.sums()
    zero_bias = np.zeros_like(sums) if window.stride != (1, 1) else -zero * sums
    value = Linear(build, unit_of(x.params, scale), out[1], zero_bias, channel_dim=1, rank=rank)
    ctx.values[node.output] = with_real_bias(ctx, value, node.input(2))


def _powers_of_two(*scales: NDArray[np.float64] | float) -> bool:
    return all((np.frexp(scale)[0] == 0.5).all() for scale in map(np.asarray, scales))


def _kernel(weights: Int16 | Int8, groups: int, kernel: tuple[int, int]) -> Int16 | Int8:
    """The kernel as outputs x rows x columns x inputs of a group; ONNX has inputs x outputs of a group x rows x columns."""
    inputs, outputs = weights.shape[:2]
    grouped = weights.reshape(groups, inputs // groups, outputs, *kernel)
    return grouped.transpose(0, 2, 3, 4, 1).reshape(groups * outputs, *kernel, inputs // groups)


def _window(node: Node, size: tuple[int, ...], kernel: tuple[int, ...], out: tuple[int, ...]) -> Window:
    """The window, with pads from the attributes, or from the output's size as ONNX derives them."""
    rank = len(size)
    stride, dilation = node.integers("strides", [1] * rank), node.integers("dilations", [1] * rank)
    extra = node.integers("output_padding", [0] * rank)
    pads = list(node.integers("pads", [0] * 2 * rank))
    mode = node.text("auto_pad", "NOTSET")
    if node.attributes.get("output_shape") or mode in ("SAME_UPPER", "SAME_LOWER"):
        for i in range(rank):
            total = max(0, stride[i] * (size[i] - 1) + extra[i] + (kernel[i] - 1) * dilation[i] + 1 - out[i])
            first = total // 2 if mode == "SAME_UPPER" else total - total // 2
            pads[i], pads[i + rank] = first, total - first
    if rank == 1:
        window = Window((1, kernel[0]), (1, stride[0]), (1, dilation[0]), (0, pads[0], 0, pads[1]))
    else:
        window = Window(
            (kernel[0], kernel[1]), (stride[0], stride[1]), (dilation[0], dilation[1]), (pads[0], pads[1], pads[2], pads[3])
        )
    require(windows.transposed_fits, window)
    return window


def _extra(window: Window, source: tuple[int, ...], target: tuple[int, ...]) -> tuple[int, int]:
    """The rows and columns by which the output exceeds what the pads leave."""
    found = [
        target[1 + i] - (window.stride[i] * (source[1 + i] - 1) + (window.kernel[i] - 1) * window.dilation[i] + 1
                         - window.pads[i] - window.pads[i + 2])
        for i in (0, 1)
    ]  # fmt: skip
    return found[0], found[1]


def _taps(stride: int, kernel: int, dilation: int, pad: int, phase: int) -> tuple[list[int], int, int]:
    """The taps of one phase in the order of rising input, the padding before, and the input distance of neighbouring taps."""
    reached = {
        (phase + pad - tap * dilation) // stride: tap for tap in range(kernel) if (phase + pad - tap * dilation) % stride == 0
    }
    places = sorted(reached)
    spacing = places[1] - places[0] if len(places) > 1 else 1
    return [reached[p] for p in places], (-places[0] if places else 0), spacing


def _phases(
    ctx: Context, node: Node, x: Mapped, window: Window, kernel: Kernel, q: Requantisation, finish: Finish, params: Params,
    name: str, letters: str, out: tuple[int, ...], groups: int,
) -> Mapped:  # fmt: skip
    """One convolution for each phase, interleaved; each has its own taps, and so its own zero-point in the bias."""
    n, h, w, c = map_shape(letters, out)
    down, across = window.stride
    part = (n, -(-h // down), -(-w // across), c)
    parts = []
    for y in range(down):
        for column in range(across):
            rows, top, d_y = _taps(down, window.kernel[0], window.dilation[0], window.pads[0], y)
            columns, left, d_x = _taps(across, window.kernel[1], window.dilation[1], window.pads[1], column)
            stored = np.ascontiguousarray(kernel.stored[:, rows or [0]][:, :, columns or [0]])
            if not (rows and columns):
                stored[:] = kernel.zero_point
            taps = Kernel(stored, kernel.zero_point)
            source, pads, first = _shifted(ctx, x, (top, left), stored.shape[1:3], (d_y, d_x), part)
            bias = q.bias - x.params.zero_point * taps.sums()
            tensor = ctx.tensor(ctx.fresh(f"{name}{PHASES}{y}{column}"), part, params)
            op = Conv(
                tensor, (source,), (tensor,), Window(stored.shape[1:3], (1, 1), (d_y, d_x), pads), stored,
                Requantisation(bias.astype(np.int32), q.mantissa, q.shift), finish, groups, x.params.zero_point,
                kernel.zero_point,
            )  # fmt: skip
            assert first == (0, 0)
            parts.append(ctx.add(op, plain("NHWC", part), params))
    whole = (n, part[1] * down, part[2] * across, c)
    interleaved = joined(ctx, parts, whole, plain("NHWC", whole), block=window.stride)
    if whole == (n, h, w, c):
        return Mapped(interleaved.tensor, plain(letters, out), params, computed=True)
    return sliced(ctx, interleaved, (0, 0, 0), (1, 1), (n, h, w, c), plain(letters, out))


def _shifted(
    ctx: Context,
    x: Mapped,
    before: tuple[int, int],
    kernel: tuple[int, int],
    dilation: tuple[int, int],
    part: tuple[int, int, int, int],
) -> tuple[str, tuple[int, int, int, int], tuple[int, int]]:
    """The map of one phase, its shape and the pads before. A phase that starts inside the map drops first rows and columns."""
    n, h, w, c = ctx.map_shape(x)
    skip = (max(0, -before[0]), max(0, -before[1]))
    if any(skip):
        cut = (n, h - skip[0], w - skip[1], c)
        x = sliced(ctx, x, (*skip, 0), (1, 1), cut, plain("NHWC", cut))
        h, w = cut[1:3]
    top, left = max(0, before[0]), max(0, before[1])
    bottom = part[1] - 1 + (kernel[0] - 1) * dilation[0] + 1 - h - top
    right = part[2] - 1 + (kernel[1] - 1) * dilation[1] + 1 - w - left
    return x.tensor, (top, left, bottom, right), (0, 0)
