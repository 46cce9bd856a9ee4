"""Maximum and average over windows and over whole maps."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from compiler.frontend.constraints import general, windows
from compiler.frontend.constraints.base import require
from compiler.frontend.importer import kernels
from compiler.frontend.importer.context import Context, rule
from compiler.frontend.importer.geometry import window_of
from compiler.frontend.importer.layout import Layout, axis, letters_for, map_shape, plain
from compiler.frontend.importer.means import Scale, mean_scale, pool_factor
from compiler.frontend.importer.requantise import quantised
from compiler.frontend.importer.values import Mapped, Mean, Params
from compiler.frontend.importer.views import arranged
from compiler.frontend.model import MICROSOFT, Node
from compiler.xgraph.ops import Eltwise, EltwiseKind, Finish, Pool, PoolKind, Window


@rule("MaxPool")
def max_pool(ctx: Context, node: Node) -> None:
    require(windows.no_indices, len([name for name in node.outputs if name]))
    x, letters, out, window = _windowed(ctx, node, ctx.mapped(node.inputs[0]))
    tensor = ctx.tensor(node.output, map_shape(letters, out), ctx.stored(x))
    op = Pool(node.name, (x.tensor,), (tensor,), PoolKind.MAX, window, Finish())
    ctx.values[node.output] = ctx.add(op, plain(letters, out), x.params)


def _windowed(ctx: Context, node: Node, x: Mapped) -> tuple[Mapped, str, tuple[int, ...], Window]:
    """The input in its map, the letters of its axes, the shape of the output, and the window."""
    require(windows.one_or_two_sides, len(x.shape))
    letters = letters_for(len(x.shape))
    assert letters is not None
    out = ctx.shape(node.output)
    window = window_of(node, x.shape[2:], node.integers("kernel_shape", ()), out[2:])
    require(windows.window_fits, window)
    return arranged(ctx, x, letters), letters, out, window


@rule("GlobalMaxPool")
def global_max_pool(ctx: Context, node: Node) -> None:
    x, window, layout, shape = _whole(ctx, node)
    tensor = ctx.tensor(node.output, shape, ctx.stored(x))
    op = Pool(node.name, (x.tensor,), (tensor,), PoolKind.MAX, window, Finish())
    ctx.values[node.output] = ctx.add(op, layout, x.params)


@rule("ReduceMax")
def reduce_max(ctx: Context, node: Node) -> None:
    found = _over_channels(ctx, node)
    if found is None:
        global_max_pool(ctx, node)
        return
    x, layout, shape = found
    tensor = ctx.tensor(node.output, shape, ctx.stored(x))
    op = Eltwise(node.name, (x.tensor,), (tensor,), EltwiseKind.HIGHEST, 1, 0, 0, 0, Finish())
    ctx.values[node.output] = ctx.add(op, layout, x.params)


def _over_channels(ctx: Context, node: Node) -> tuple[Mapped, Layout, tuple[int, int, int, int]] | None:
    """The map, and the layout and shape of the output, for a reduction over the channels of a map and nothing else."""
    x = ctx.mapped(node.inputs[0])
    axes = _axes(ctx, node, len(x.shape))
    n, h, w, c = ctx.map_shape(x)
    reduced = [dim for i, dim in enumerate(x.layout.dims) if i in axes and dim]
    if c == 1 or reduced != [axis("C", c)]:
        return None
    keep = node.integer("keepdims", 1)
    dims = [() if i in axes else dim for i, dim in enumerate(x.layout.dims) if keep or i not in axes]
    return x, Layout(tuple(dims)), (n, h, w, 1)


def _whole(ctx: Context, node: Node) -> tuple[Mapped, Window, Layout, tuple[int, int, int, int]]:
    """The input in its map, the window, and the layout and shape of the output, for a reduction over the whole map."""
    x = ctx.mapped(node.inputs[0])
    axes = _axes(ctx, node, len(x.shape))
    n, h, w, c = ctx.map_shape(x)
    reduced = {a.axis for i in axes for a in x.layout.dims[i]} | {letter for letter, s in (("H", h), ("W", w)) if s == 1}
    require(windows.reduces_space, reduced)
    whole = sorted((a for i in axes for a in x.layout.dims[i]), key=lambda a: a.axis)
    if whole != sorted((*axis("H", h), *axis("W", w)), key=lambda a: a.axis):
        require(general.layout_reachable, False)
    window = Window((h, w), (1, 1))
    require(windows.window_fits, window)
    keep = node.integer("keepdims", 1) or node.op_type.startswith(("Global", "QLinear"))
    dims = [() if i in axes else dim for i, dim in enumerate(x.layout.dims) if keep or i not in axes]
    return x, window, Layout(tuple(dims)), (n, 1, 1, c)


def _axes(ctx: Context, node: Node, rank: int) -> set[int]:
    if node.op_type.startswith(("Global", "QLinearGlobal")):
        return set(range(1, rank - 1)) if node.integer("channels_last", 0) else set(range(2, rank))
    given = ctx.constant(node.input(1))
    axes = [int(a) for a in given.reshape(-1)] if given is not None else list(node.integers("axes", range(rank)))
    return {a % rank for a in axes}


@rule("GlobalAveragePool", "ReduceMean", "ReduceSum")
def global_average(ctx: Context, node: Node) -> None:
    ctx.values[node.output] = _global_mean(ctx, node)


@rule("QLinearGlobalAveragePool", domain=MICROSOFT)
def qlinear_global_average(ctx: Context, node: Node) -> None:
    value = _global_mean(ctx, node)
    source = replace(value.source, params=ctx.params(node.inputs[1], node.input(2), ctx.model.elem(node.inputs[0])))
    params = ctx.params(node.inputs[3], node.input(4), ctx.model.elem(node.output))
    ctx.values[node.output] = finished(ctx, replace(value, source=source), params, node.output)


def _global_mean(ctx: Context, node: Node) -> Mean:
    found = None if node.op_type.startswith(("Global", "QLinear")) else _over_channels(ctx, node)
    if found is not None:
        return _channel_mean(ctx, node, *found)
    x, window, layout, shape = _whole(ctx, node)

    def build(name: str, scales: dict[int, tuple[int, int, int]], finish: Finish, params: Params) -> Mapped:
        tensor = ctx.tensor(name, shape, params)
        op = Pool(node.name, (x.tensor,), (tensor,), PoolKind.AVERAGE, window, finish, 0, True, scales)
        return ctx.add(op, layout, params)

    return Mean(build, x, [window.kernel[0] * window.kernel[1]], divide=node.op_type != "ReduceSum")


def _channel_mean(ctx: Context, node: Node, x: Mapped, layout: Layout, shape: tuple[int, int, int, int]) -> Mean:
    channels = ctx.map_shape(x)[3]

    def build(name: str, scales: dict[int, tuple[int, int, int]], finish: Finish, params: Params) -> Mapped:
        bias, mantissa, shift = scales[channels]
        tensor = ctx.tensor(name, shape, params)
        op = Eltwise(node.name, (x.tensor,), (tensor,), EltwiseKind.SUM, mantissa, 0, bias * mantissa, shift, finish)
        return ctx.add(op, layout, params)

    return Mean(build, x, [channels], divide=node.op_type != "ReduceSum", misc=True)


@rule("AveragePool")
def average_pool(ctx: Context, node: Node) -> None:
    ctx.values[node.output] = _mean(ctx, node, ctx.mapped(node.inputs[0]))


@rule("QLinearAveragePool", domain=MICROSOFT)
def qlinear_average_pool(ctx: Context, node: Node) -> None:
    x = replace(ctx.mapped(node.inputs[0]), params=ctx.params(node.inputs[1], node.input(2), ctx.model.elem(node.inputs[0])))
    require(windows.one_or_two_sides, 0 if node.integer("channels_last", 0) else len(x.shape))
    params = ctx.params(node.inputs[3], node.input(4), ctx.model.elem(node.output))
    ctx.values[node.output] = finished(ctx, replace(_mean(ctx, node, x), fused=True), params, node.output)


def _mean(ctx: Context, node: Node, x: Mapped) -> Mean:
    x, letters, out, window = _windowed(ctx, node, x)
    shape = map_shape(letters, out)
    size = ctx.map_shape(x)[1:3]
    whole = window.kernel == tuple(size) and not any(window.pads)
    if not node.integer("count_include_pad", 0) and shape[1:3] == (1, 1) and window.dilation == (1, 1):
        inside = [min(window.kernel[side] - window.pads[side], size[side]) for side in (0, 1)]
        window = Window((inside[0], inside[1]))
    taps = window.kernel[0] * window.kernel[1]
    beyond = [_beyond(window, side, size[side], shape[1 + side]) for side in (0, 1)]
    count_pad = bool(node.integer("count_include_pad", 0))
    if count_pad and any(past for past, _ in beyond):
        require(windows.counted_inside)
    padded = any(window.pads[:2]) or any(outside for _, outside in beyond)
    count_pad = count_pad or not padded
    if not count_pad:
        require(windows.counts_fit, taps)
        require(windows.undilated, window.dilation)

    def build(name: str, scales: dict[int, tuple[int, int, int]], finish: Finish, params: Params) -> Mapped:
        tensor = ctx.tensor(name, shape, params)
        op = Pool(
            node.name, (x.tensor,), (tensor,), PoolKind.AVERAGE, window, finish, x.params.zero_point, count_pad, scales
        )  # fmt: skip
        return ctx.add(op, plain(letters, out), params)

    counts = [taps] if count_pad else _counts(window, size, (shape[1], shape[2]))
    return Mean(build, x, counts, count_pad=count_pad, whole=whole)


def _counts(window: Window, size: tuple[int, ...], out: tuple[int, int]) -> list[int]:
    """The numbers of pixels inside of the map that the windows of an output have."""
    inside = []
    for side in (0, 1):
        starts = np.arange(out[side]) * window.stride[side] - window.pads[side]
        places = np.add.outer(starts, np.arange(window.kernel[side]) * window.dilation[side])
        inside.append(((places >= 0) & (places < size[side])).sum(axis=1))
    return [int(count) for count in np.unique(np.multiply.outer(*inside)) if count]


def _beyond(window: Window, side: int, size: int, out: int) -> tuple[bool, bool]:
    """Whether the last window reaches past the padding, and whether it reaches past the map."""
    reach = (out - 1) * window.stride[side] + (window.kernel[side] - 1) * window.dilation[side] + 1
    return reach > size + window.pads[side] + window.pads[side + 2], reach > size + window.pads[side]


def finished(ctx: Context, value: Mean, params: Params, name: str) -> Mapped:
    """The map of a mean. Each count of pixels has its own scale, and a bias that removes the input's zero-point."""
    source = value.source.params
    scales: dict[int, tuple[int, int, int]] = {}
    after = params.zero_point
    units = {
        n: np.float32(source.scale) / np.float32(np.float32(params.scale) * (n if value.divide else 1)) for n in value.counts
    }
    shifts = {n: params.zero_point * params.scale * (n if value.divide else 1) / source.scale for n in value.counts}
    if value.fused and not value.whole and all(shift == round(shift) for shift in shifts.values()):
        after = 0
    found = {count: _scale(value, params, count, unit) for count, unit in units.items()}
    for count, scale in found.items():
        bias = -count * source.zero_point + (int(shifts[count]) if after != params.zero_point else 0)
        scales[count] = (bias, scale.factor, scale.shift)
    made = value.build(name, scales, Finish(after, quantised(value.lo, params), quantised(value.hi, params)), params)
    if value.fused or value.real:
        require(windows.sums_hold, max(kernels.noise_of_sums(source, n) * float(unit) for n, unit in units.items()))
        even = value.whole or after % 2 == 0
        doubts = max(
            kernels.averages_in_doubt(source, params, n, even) if value.fused else found[n].wrong for n in value.counts
        )
        operation = ctx.made[made.tensor].name
        ctx.doubt(operation, doubts, 255 * max(value.counts) + 1, "sums of a window", at_most=True, stays=True)
    return made


def _scale(value: Mean, params: Params, count: int, unit: np.float32) -> Scale:
    """The scale of a mean over ``count`` pixels; ``unit`` is the real scale of a sum, in steps of the result."""
    require(general.scale_fits, np.array([unit]))
    if value.real:
        return mean_scale(value.source.params, params, count, divide=value.divide, misc=value.misc)
    return pool_factor(float(unit))
