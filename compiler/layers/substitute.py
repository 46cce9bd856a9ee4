"""Replaces operations where a machine lacks POOL or MISC by operations of the units that it has, equal in every bit."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from compiler.layers.fit import Fit, FitError
from compiler.xgraph.functions import function_of
from compiler.xgraph.ops import (
    OVER_CHANNELS,
    Conv,
    ConvTranspose,
    Eltwise,
    EltwiseKind,
    Finish,
    Op,
    Pool,
    PoolKind,
    Requantisation,
    Upsample,
    Window,
)
from compiler.xgraph.row_operations import Normalisation, Softmax
from compiler.xgraph.tensor import Tensor
from isa.config import MachineConfig
from isa.instructions import MAX_REDUCED_LANES
from isa.requantisation import ONE, ONE_SHIFT

_SWITCHES = {"POOL": "build_pool", "MISC": "build_misc", "ROW": "build_rows"}


def built(config: MachineConfig, op: Op, tensors: Mapping[str, Tensor]) -> Op:
    """The operation, or another one that computes the same if the machine lacks its unit."""
    if isinstance(op, Eltwise) and op.kind in OVER_CHANNELS:
        _check_reduced(config, op, tensors[op.inputs[0]])
    if isinstance(op, Softmax | Normalisation):
        _check_row(config, op, tensors[op.inputs[0]])
    if isinstance(op, Eltwise | Upsample) and not config.build_misc:
        op = _without_misc(config, op, tensors)
    if isinstance(op, Pool) and not config.build_pool:
        op = _without_pool(config, op, tensors)
    return op


def _check_reduced(config: MachineConfig, op: Eltwise, source: Tensor) -> None:
    most = MAX_REDUCED_LANES // config.ic_p * config.ic_p
    if source.channels > most:
        reason = f"MISC sums and compares {most} channels at most, {source.name} has {source.channels}"
        raise FitError(Fit.OVER_CHANNELS, f"layer {op.name}", reason, "the CPU computes it")


def _check_row(config: MachineConfig, op: Op, source: Tensor) -> None:
    if not config.build_rows:
        raise _unbuilt(config, op, "ROW", "computes softmax and normalisation")
    most = config.row_words * config.ic_p
    if source.channels > most:
        reason = f"rows of ROW have {most} elements at most (row_words), those of {source.name} {source.channels}"
        raise FitError(Fit.ROWS, f"layer {op.name}", reason, "the CPU computes it")


def _without_misc(config: MachineConfig, op: Eltwise | Upsample, tensors: Mapping[str, Tensor]) -> Op:
    """An operation in place of one on MISC. A function of one map becomes a maximum over one pixel; a resize becomes a
    transposed convolution with weights of one."""
    channels = tensors[op.output].channels
    if isinstance(op, Upsample):
        ones = np.ones((channels, *op.factor, 1), np.int8)
        window = Window(op.factor, op.factor)
        return ConvTranspose(op.name, op.inputs, op.outputs, window, ones, _identity(channels), Finish(), groups=channels)
    if op.kind is not EltwiseKind.PASS:
        raise _unbuilt(config, op, "MISC", "adds and multiplies maps")
    return Pool(op.name, op.inputs, op.outputs, PoolKind.MAX, Window((1, 1)), Finish(table=function_of(op)))


def _without_pool(config: MachineConfig, op: Pool, tensors: Mapping[str, Tensor]) -> Op:
    """A depthwise convolution with weights of one, in place of a maximum over one pixel or an average over whole windows."""
    channels = tensors[op.output].channels
    ones = np.ones((channels, *op.window.kernel, 1), np.int8)
    if op.kind is PoolKind.MAX and op.window.kernel == (1, 1):
        requantisation = _identity(channels)
    elif op.kind is PoolKind.AVERAGE and (op.count_pad or _stays_inside(op, tensors[op.inputs[0]], tensors[op.output])):
        bias, mantissa, shift = op.scales[op.window.kernel[0] * op.window.kernel[1]]
        requantisation = Requantisation(
            np.full(channels, bias, np.int32), np.full(channels, mantissa, np.uint32), np.full(channels, shift, np.uint8)
        )
    else:
        raise _unbuilt(config, op, "POOL", "takes maxima" if op.kind is PoolKind.MAX else "counts the pixels of windows")
    return Conv(
        op.name, op.inputs, op.outputs, op.window, ones, requantisation, op.finish, groups=channels, pad_value=op.pad_value
    )


def _unbuilt(config: MachineConfig, op: Op, unit: str, does: str) -> FitError:
    reason = f"configuration {config.name} builds no {unit} unit, which {does}"
    return FitError(Fit.UNIT, f"operation {op.name}", reason, f"set {_SWITCHES[unit]} = true")


def _stays_inside(op: Pool, source: Tensor, target: Tensor) -> bool:
    """Whether no window reaches beyond the map, so that all windows have the same number of pixels."""
    sides = zip((source.height, source.width), (target.height, target.width), strict=True)
    return not any(op.window.pads) and all(
        (made - 1) * op.window.stride[i] + (op.window.kernel[i] - 1) * op.window.dilation[i] < size
        for i, (size, made) in enumerate(sides)
    )


def _identity(channels: int) -> Requantisation:
    mantissa, shift = np.full(channels, ONE, np.uint32), np.full(channels, ONE_SHIFT, np.uint8)
    return Requantisation(np.zeros(channels, np.int32), mantissa, shift)

