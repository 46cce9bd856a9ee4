"""Nearest and linear resize. What a Resize node does is found by asking onnxruntime where each output row comes from."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from compiler.frontend.constraints import movement
from compiler.frontend.constraints.base import require
from compiler.frontend.importer.context import Context, rule
from compiler.frontend.importer.layout import map_shape, plain
from compiler.frontend.importer.movement import join
from compiler.frontend.importer.values import Linear, Mapped, Params
from compiler.frontend.importer.views import arranged, joined, sliced
from compiler.frontend.model import Node, TensorType, part_proto
from compiler.frontend.session import run
from compiler.xgraph.ops import Conv, Finish, Requantisation, Upsample, Window

Matrix = NDArray[np.float32]


@rule("Resize", "Upsample")
def resize(ctx: Context, node: Node) -> None:
    x = ctx.mapped(node.inputs[0])
    out = ctx.shape(node.output)
    mode = node.text("mode", "nearest")
    if len(out) != 4 or out[:2] != x.shape[:2] or mode not in ("nearest", "linear"):
        require(movement.scales_known)
    if not _sides_apart(node):
        require(movement.sides_apart)
    x = arranged(ctx, x, "NCHW")
    rows, columns = (_matrix(ctx, node, side) for side in (0, 1))
    if mode == "nearest":
        ctx.values[node.output] = _nearest(ctx, node, x, rows, columns)
    elif rows.shape[0] == rows.shape[1] and columns.shape[0] == columns.shape[1]:
        ctx.values[node.output] = x
    else:
        ctx.values[node.output] = _linear(ctx, node, x, rows, columns)


def _sides_apart(node: Node) -> bool:
    """Whether what becomes of the rows does not depend on the columns, and every pixel is made of pixels alone."""
    return (
        node.text("keep_aspect_ratio_policy", "stretch") == "stretch"
        and node.text("coordinate_transformation_mode", "half_pixel") != "tf_crop_and_resize"
    )


def _matrix(ctx: Context, node: Node, side: int) -> Matrix:
    """Outputs x inputs along one side: what the node makes of unit rows, which lie in the channels of a map one pixel wide."""
    rank = len(ctx.shape(node.inputs[0]))
    size, made = ctx.shape(node.inputs[0])[2 + side], ctx.shape(node.output)[2 + side]
    place = 2 + side
    axes = [axis % rank for axis in node.integers("axes", range(rank))]
    constants, attributes = dict(ctx.model.constants), dict(node.attributes)
    for index, name in enumerate(node.inputs):
        value = constants.get(name)
        if index == 0 or value is None or not value.size:
            continue
        if value.dtype == np.int64:
            sizes = {0: 1, 1: size, place: made}
            constants[name] = np.array([sizes.get(axis, 1) for axis in axes], np.int64)
        elif value.size == len(axes):
            constants[name] = np.array([s if axis == place else 1 for axis, s in zip(axes, value, strict=True)], np.float32)
    if "scales" in attributes:
        attributes["scales"] = [s if axis == place else 1.0 for axis, s in enumerate(attributes["scales"])]
    shape = [1, size, 1, 1]
    shape[place] = size
    types = {**ctx.model.types, node.inputs[0]: TensorType(1, tuple(shape)), node.output: TensorType(1, None)}
    model = replace(ctx.model, types=types, constants=constants)
    part = part_proto(model, [replace(node, attributes=attributes)], [node.inputs[0]], [node.output])
    found = run(part, {node.inputs[0]: np.eye(size, dtype=np.float32).reshape(shape)})[node.output]
    if found.shape[place] != made:
        require(movement.scales_known)
    return np.ascontiguousarray(found.reshape(size, made).T)


def _nearest(ctx: Context, node: Node, x: Mapped, rows: Matrix, columns: Matrix) -> Mapped:
    out = ctx.shape(node.output)
    source = [matrix.argmax(axis=1) for matrix in (rows, columns)]
    sizes = [matrix.shape[1] for matrix in (rows, columns)]
    factors = [len(s) // size for s, size in zip(source, sizes, strict=True)]
    target = map_shape("NCHW", out)
    if all(f >= 1 and (s == np.arange(len(s)) // f).all() for s, f in zip(source, factors, strict=True)):
        tensor = ctx.tensor(node.output, target, ctx.stored(x))
        return ctx.add(Upsample(node.name, (x.tensor,), (tensor,), (factors[0], factors[1])), plain("NCHW", out), x.params)
    steps = [int(s[1] - s[0]) if len(s) > 1 else 1 for s in source]
    if not all(d > 0 and (s == s[0] + d * np.arange(len(s))).all() for s, d in zip(source, steps, strict=True)):
        require(movement.nearest_regular)
    first = (int(source[0][0]), int(source[1][0]), 0)
    return sliced(ctx, x, first, (steps[0], steps[1]), target, plain("NCHW", out))


def _stencil(matrix: Matrix) -> tuple[int, NDArray[np.int64]]:
    """Factor, and per phase the whole weights of the neighbours before, at and after; their sum is twice the factor."""
    outputs, inputs = matrix.shape
    factor = outputs // inputs
    if factor not in (1, 2, 4) or outputs != factor * inputs:
        require(movement.linear_regular)
    whole = np.rint(matrix * 2 * factor).astype(np.int64)
    if not (whole == matrix * 2 * factor).all():
        require(movement.linear_regular)
    middle = inputs // 2
    weights = np.zeros((factor, 3), np.int64)
    for phase in range(factor):
        for offset in (-1, 0, 1):
            if 0 <= middle + offset < inputs:
                weights[phase, offset + 1] = whole[middle * factor + phase, middle + offset]
    for row in range(outputs):
        expected = np.zeros(inputs, np.int64)
        for offset in (-1, 0, 1):
            expected[np.clip(row // factor + offset, 0, inputs - 1)] += weights[row % factor, offset + 1]
        if not (expected == whole[row]).all():
            require(movement.linear_regular)
    return factor, weights


def _linear(ctx: Context, node: Node, x: Mapped, rows: Matrix, columns: Matrix) -> Linear:
    """Each phase is a depthwise convolution of the map whose edges are repeated; the phases are interleaved."""
    if ctx.model.elem(node.inputs[0]) != 1:
        require(movement.linear_quantised_after)
    (f_y, w_y), (f_x, w_x) = _stencil(rows), _stencil(columns)
    if f_y != f_x:
        require(movement.linear_regular)
    out = ctx.shape(node.output)
    channels = out[1]
    wide = _edges(ctx, _edges(ctx, x, 2), 3)
    n, h, w, c = map_shape("NCHW", out)
    part = (n, h // f_y, w // f_x, c)
    unit = np.asarray(np.float32(x.params.scale) * np.float32(1 / (4 * f_y * f_x))).reshape(1)
    zero_bias = np.full(channels, -x.params.zero_point * 4 * f_y * f_x, np.int64)

    def build(name: str, q: Requantisation, finish: Finish, params: Params) -> Mapped:
        parts = []
        for y in range(f_y):
            for column in range(f_x):
                taps = np.outer(w_y[y], w_x[column]).astype(np.int8)
                kernel = np.ascontiguousarray(np.broadcast_to(taps[None, :, :, None], (channels, 3, 3, 1)))
                tensor = ctx.tensor(ctx.fresh(f"{name}/phase{y}{column}"), part, params)
                op = Conv(tensor, (wide.tensor,), (tensor,), Window((3, 3)), kernel, q, finish, channels, x.params.zero_point)
                parts.append(ctx.add(op, plain("NHWC", part), params))
        return joined(ctx, parts, (n, h, w, c), plain("NCHW", out), block=f_y)

    return Linear(build, unit, channels, zero_bias, mean_of=4 * f_y * f_x, source=x.params)


def _edges(ctx: Context, x: Mapped, axis: int) -> Mapped:
    """The map with its first and last row (or column) repeated once."""
    shape = x.shape
    letter = "NCHW"[axis]
    _n, _h, _w, _c = ctx.map_shape(x)
    one = tuple(1 if i == axis else s for i, s in enumerate(shape))
    ends = []
    for place in (0, shape[axis] - 1):
        begin = (place if letter == "H" else 0, place if letter == "W" else 0, 0)
        ends.append(sliced(ctx, x, begin, (1, 1), map_shape("NCHW", one), plain("NCHW", one)))
    wide = tuple(s + 2 if i == axis else s for i, s in enumerate(shape))
    return join(ctx, [ends[0], x, ends[1]], axis, wide)
