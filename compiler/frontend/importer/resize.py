"""Nearest and linear resize. Each Resize node is run by onnxruntime to find where its rows and columns come from."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from compiler.frontend.constraints import movement
from compiler.frontend.constraints.base import require
from compiler.frontend.importer.context import Context, rule
from compiler.frontend.importer.layout import map_shape, plain
from compiler.frontend.importer.movement import join
from compiler.frontend.importer.moves import sliced
from compiler.frontend.importer.selection import taken
from compiler.frontend.importer.values import Linear, Mapped, Params
from compiler.frontend.importer.views import arranged
from compiler.frontend.importer.wide import kernel_of
from compiler.frontend.model import Node, TensorType, part_proto
from compiler.frontend.session import run
from compiler.xgraph.ops import ConvTranspose, Finish, Requantisation, Upsample, Window

Matrix = NDArray[np.float32]
Int64 = NDArray[np.int64]
ROUNDING = 1e-4
"""The most by which weights in float32 differ from whole ones."""
_PLACE = 8192
"""A number that is added to places, so that no number that a node puts beyond the map is a place."""


@rule("Resize", "Upsample")
def resize(ctx: Context, node: Node) -> None:
    x = ctx.mapped(node.inputs[0])
    out = ctx.shape(node.output)
    mode = node.text("mode", "nearest")
    if len(out) != 4 or out[:2] != x.shape[:2] or mode not in ("nearest", "linear"):
        require(movement.scales_known)
    x = arranged(ctx, x, "NCHW")
    if mode == "nearest":
        ctx.values[node.output] = _nearest(ctx, node, x, _sources(ctx, node))
        return
    if not _sides_apart(node):
        require(movement.sides_apart)
    rows, columns = (_matrix(ctx, node, side) for side in (0, 1))
    if rows.shape[0] == rows.shape[1] and columns.shape[0] == columns.shape[1]:
        ctx.values[node.output] = x
    else:
        ctx.values[node.output] = _linear(ctx, node, x, rows, columns)


def _sides_apart(node: Node) -> bool:
    """Whether rows do not depend on columns, and every result depends on pixels alone."""
    return (
        node.text("keep_aspect_ratio_policy", "stretch") == "stretch"
        and node.text("coordinate_transformation_mode", "half_pixel") != "tf_crop_and_resize"
    )


def _matrix(ctx: Context, node: Node, side: int) -> Matrix:
    """The matrix of outputs x inputs along one side: the node's result on unit rows in channels of a narrow map."""
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


def _sources(ctx: Context, node: Node) -> list[list[int]]:
    """The row that each row of the result is, and the column that each column is: the node's result on a map of places."""
    shape = ctx.shape(node.inputs[0])
    axes = [axis % len(shape) for axis in node.integers("axes", range(len(shape)))]
    constants = dict(ctx.model.constants)
    for index, name in enumerate(node.inputs):
        value = constants.get(name)
        if index and value is not None and value.dtype == np.int64 and value.size == len(axes):
            constants[name] = np.array([1 if axis < 2 else v for axis, v in zip(axes, value, strict=True)], np.int64)
    found = []
    for side in (2, 3):
        one = (1, 1, *shape[2:])
        types = {**ctx.model.types, node.inputs[0]: TensorType(1, one), node.output: TensorType(1, None)}
        part = part_proto(replace(ctx.model, types=types, constants=constants), [node], [node.inputs[0]], [node.output])
        places = np.indices(one)[side].astype(np.float32) + np.float32(_PLACE)
        made = run(part, {node.inputs[0]: places})[node.output][0, 0] - _PLACE
        line = made[:, 0] if side == 2 else made[0]
        alike = made.shape == ctx.shape(node.output)[2:] and (made == (line[:, None] if side == 2 else line)).all()
        if not alike or line.min() < 0 or line.max() >= shape[side]:
            require(movement.sides_apart)
        found.append([int(v) for v in line])
    return found


def _nearest(ctx: Context, node: Node, x: Mapped, sources: list[list[int]]) -> Mapped:
    """The resized map. Whole factors repeat pixels; other sizes take rows and columns, first those that leave fewer pixels."""
    out = ctx.shape(node.output)
    sizes = ctx.map_shape(x)[1:3]
    factors = [len(source) // size for source, size in zip(sources, sizes, strict=True)]
    whole = [
        factor > 1 and source == [place // factor for place in range(factor * size)]
        for source, factor, size in zip(sources, factors, sizes, strict=True)
    ]
    for side in sorted((0, 1), key=lambda side: len(sources[side]) / sizes[side]):
        if not whole[side]:
            x = taken(ctx, x, 1 + side, sources[side])
    if any(whole):
        factor = (factors[0] if whole[0] else 1, factors[1] if whole[1] else 1)
        tensor = ctx.tensor(node.output, map_shape("NCHW", out), ctx.stored(x))
        x = ctx.add(Upsample(node.name, (x.tensor,), (tensor,), factor), plain("NCHW", out), x.params)
    return replace(x, layout=plain("NCHW", out))


@dataclass(frozen=True)
class _Stencil:
    """One side of a resize by a whole factor: each pixel adds ``taps``, in units of ``1 / unit``, from ``first`` on.

    Pixel ``i`` adds tap ``k`` to pixel ``i * factor + first + k`` of the result. Beyond the map lie copies of its edge.
    """

    factor: int
    taps: Int64
    first: int
    unit: int


def _stencil(matrix: Matrix) -> _Stencil:
    outputs, inputs = matrix.shape
    factor = outputs // inputs
    if not factor or outputs != factor * inputs:
        require(movement.linear_regular)
    unit = factor if np.abs(np.rint(matrix * factor) - matrix * factor).max() <= ROUNDING else 2 * factor
    whole = np.rint(matrix * unit).astype(np.int64)
    if np.abs(whole - matrix * unit).max() > ROUNDING:
        require(movement.linear_regular)
    middle = inputs // 2
    used = np.flatnonzero(whole[:, middle])
    taps, first = whole[used[0] : used[-1] + 1, middle], int(used[0]) - factor * middle
    expected = np.zeros_like(whole)
    for source in range(-1, inputs + 1):
        for tap, weight in enumerate(taps):
            row = source * factor + first + tap
            if 0 <= row < outputs:
                expected[row, min(max(source, 0), inputs - 1)] += weight
    if not (expected == whole).all():
        require(movement.linear_regular)
    return _Stencil(factor, taps, first, unit)


def _linear(ctx: Context, node: Node, x: Mapped, rows: Matrix, columns: Matrix) -> Linear:
    """A transposed convolution, channel by channel, of the map with repeated edges."""
    if ctx.model.elem(node.inputs[0]) != 1:
        require(movement.linear_quantised_after)
    y, z = _stencil(rows), _stencil(columns)
    out = ctx.shape(node.output)
    channels, shares = out[1], y.unit * z.unit
    kernel = kernel_of(np.outer(y.taps, z.taps).astype(np.int16)[None, :, :, None])
    stored = np.ascontiguousarray(np.broadcast_to(kernel.stored, (channels, *kernel.stored.shape[1:])))
    wide = _edges(ctx, _edges(ctx, x, 2), 3)
    target = map_shape("NCHW", out)
    ends = [
        (side.factor - side.first, side.first + side.factor * size + len(side.taps) - made)
        for side, size, made in zip((y, z), ctx.map_shape(x)[1:3], target[1:3], strict=True)
    ]
    window = Window(kernel.stored.shape[1:3], (y.factor, z.factor), (1, 1), (ends[0][0], ends[1][0], ends[0][1], ends[1][1]))
    unit = np.asarray(np.float32(x.params.scale) * np.float32(1 / shares)).reshape(1)

    def build(name: str, q: Requantisation, finish: Finish, params: Params) -> Mapped:
        tensor = ctx.tensor(name, target, params)
        op = ConvTranspose(
            node.name, (wide.tensor,), (tensor,), window, stored, q, finish, (0, 0), channels, x.params.zero_point,
            kernel.zero_point,
        )  # fmt: skip
        return ctx.add(op, plain("NCHW", out), params)

    zero_bias = np.full(channels, -x.params.zero_point * shares, np.int64)
    return Linear(build, unit, channels, zero_bias, mean_of=shares, source=x.params)


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
