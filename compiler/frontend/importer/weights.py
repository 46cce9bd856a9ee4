"""Constant operands: weights and biases, quantised in the model or through DequantizeLinear."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from compiler.frontend.constraints import general
from compiler.frontend.constraints.base import require
from compiler.frontend.importer.context import Context
from compiler.frontend.model import Array

Int16 = NDArray[np.int16]
Int8 = NDArray[np.int8]
Float32 = NDArray[np.float32]


@dataclass(frozen=True, eq=False)
class Weights:
    """Constant weights: real value = scale * values; ``scale`` is one number or runs along ``axis``."""

    values: Int16 | Int8
    """The stored weights minus their zero-point."""
    scale: Float32
    axis: int

    def transposed(self, order: tuple[int, ...]) -> Weights:
        return Weights(self.values.transpose(order), self.scale, order.index(self.axis) if self.scale.size > 1 else 0)

    def along(self, axis: int) -> Float32:
        """The scale: one number, or one for each index of ``axis``."""
        if self.scale.size == 1:
            return self.scale.reshape(1)
        require(general.weights_constant, True if self.axis == axis else None)
        return self.scale.reshape(-1)


def quantised_weights(ctx: Context, values: str, scale: str, zero_point: str, axis: int) -> Weights:
    """Weights of a QLinear operator; ``axis`` is that of its output channels."""
    return _weights(ctx.constant(values), ctx.constant(scale), ctx.constant(zero_point), axis)


def weights_behind(ctx: Context, name: str) -> Weights:
    """Weights that DequantizeLinear (and then perhaps Transpose) makes from a constant."""
    maker = ctx.producers.get(name)
    require(general.weights_constant, maker)
    assert maker is not None
    if maker.op_type == "Transpose":
        inner = weights_behind(ctx, maker.inputs[0])
        return inner.transposed(maker.integers("perm", tuple(range(inner.values.ndim))[::-1]))
    require(
        general.weights_constant, maker if maker.op_type == "DequantizeLinear" and not maker.integer("block_size", 0) else None
    )
    values = ctx.constant(maker.inputs[0])
    axis = maker.integer("axis", 1)
    found = _weights(values, ctx.constant(maker.inputs[1]), ctx.constant(maker.input(2)), axis)
    return found if axis >= 0 else Weights(found.values, found.scale, axis + found.values.ndim)


def _weights(values: Array | None, scale: Array | None, zero_point: Array | None, axis: int) -> Weights:
    known = values is not None and scale is not None and values.dtype in (np.int8, np.uint8)
    require(general.weights_constant, values if known else None)
    assert values is not None
    assert scale is not None
    if values.dtype == np.int8 and (zero_point is None or not zero_point.any()):
        return Weights(values, scale.astype(np.float32).reshape(-1), axis)
    wide = values.astype(np.int16)
    if zero_point is not None:
        zero = zero_point.astype(np.int16)
        shape = [1] * wide.ndim
        if zero.size > 1:
            shape[axis] = zero.size
        wide = wide - zero.reshape(shape)
    return Weights(wide, scale.astype(np.float32).reshape(-1), axis)


def real_constant(ctx: Context, name: str) -> NDArray[np.float64] | None:
    """The real value of a constant, or of a dequantised one."""
    value = ctx.constant(name)
    if value is not None:
        return value.astype(np.float64)
    maker = ctx.producers.get(name)
    if maker is None or maker.op_type != "DequantizeLinear":
        return None
    stored, scale, zero = (ctx.constant(maker.input(i)) for i in range(3))
    if stored is None or scale is None:
        return None
    shape = [1] * stored.ndim
    if scale.size > 1:
        shape[maker.integer("axis", 1)] = scale.size
    shift = 0 if zero is None else zero.astype(np.float64).reshape(shape if zero.size > 1 else [1] * stored.ndim)
    return np.asarray(
        (stored.astype(np.float64) - shift) * scale.astype(np.float64).reshape(shape if scale.size > 1 else [1] * stored.ndim)
    )
