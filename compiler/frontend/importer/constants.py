"""Constants as maps that the program file holds."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from compiler.frontend.constraints import elementwise
from compiler.frontend.constraints.base import require
from compiler.frontend.importer.context import Context
from compiler.frontend.importer.layout import Layout, Shape4, as_bytes, map_shape, plain
from compiler.frontend.importer.values import Fixed, Mapped, Params
from compiler.frontend.importer.views import positions
from compiler.frontend.model import Array
from compiler.xgraph.ops import Constant

Int8 = NDArray[np.int8]


def fixed(values: Array, params: Params) -> Fixed:
    """The constant as the model stores it, with its numbers in int8."""
    return Fixed((values ^ 0x80).view(np.int8) if values.dtype == np.uint8 else values, params)


def dequantised_constant(ctx: Context, name: str) -> Fixed | None:
    """The int8 constant behind a DequantizeLinear, if it has eight bits and one scale."""
    maker = ctx.producers.get(name)
    stored = ctx.constant(maker.inputs[0]) if maker is not None and maker.op_type == "DequantizeLinear" else None
    if stored is None or maker is None:
        return None
    return fixed(stored, ctx.params(maker.inputs[1], maker.input(2), ctx.model.elem(maker.inputs[0])))


def beside(ctx: Context, constant: Fixed, like: Mapped) -> Mapped:
    """A constant in a map with the axes of the other operand: a map as large, or one pixel if all pixels are the same."""
    if _broadcast(constant.values.shape, like.shape) != like.shape:
        require(elementwise.broadcast_fits)
    whole = _in_map(np.broadcast_to(constant.values, like.shape), like.layout, ctx.map_shape(like))
    pixel = whole[:, :1, :1]
    return _held(ctx, pixel if (whole == pixel).all() else whole, constant.params, like.layout, like.tensor)


def _broadcast(shape: tuple[int, ...], other: tuple[int, ...]) -> tuple[int, ...]:
    try:
        return np.broadcast_shapes(shape, other)
    except ValueError:
        return ()


def alone(ctx: Context, constant: Fixed, letters: str, label: str) -> Mapped:
    """A constant in a map of its own, whose axes are the dimensions that the letters name."""
    shape = constant.values.shape
    layout = plain(letters, shape)
    return _held(ctx, _in_map(constant.values, layout, map_shape(letters, shape)), constant.params, layout, label)


def _held(ctx: Context, values: Int8, params: Params, layout: Layout, label: str) -> Mapped:
    n, h, w, c = values.shape
    name = ctx.tensor(ctx.fresh(f"{label}/constant"), (n, h, w, c), params)
    return ctx.add(Constant(name, (), (name,), np.ascontiguousarray(values)), layout, params)


def _in_map(values: Int8, layout: Layout, shape: Shape4) -> Int8:
    """The elements at their places in a map of that layout."""
    made = np.zeros(shape, np.int8)
    made.reshape(-1)[positions(as_bytes(layout.flat(), shape))] = values.reshape(-1)
    return made
