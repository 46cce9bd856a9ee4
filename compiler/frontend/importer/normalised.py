"""Batch normalisation between quantised maps: a factor and an offset per channel, as a depthwise convolution of one tap."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from compiler.frontend.constraints import general, windows
from compiler.frontend.constraints.base import require
from compiler.frontend.importer.context import Context, rule
from compiler.frontend.importer.kernels import CODES
from compiler.frontend.importer.layout import letters_for, plain
from compiler.frontend.importer.requantise import quantised, records, representable
from compiler.frontend.importer.values import Affine, Mapped, Params
from compiler.frontend.importer.views import arranged
from compiler.frontend.importer.weights import real_constant
from compiler.frontend.model import Node, TensorType, part_proto
from compiler.frontend.session import run_session, session
from compiler.xgraph.ops import Conv, Finish, Requantisation, Window

Float64 = NDArray[np.float64]
Int64 = NDArray[np.int64]
WEIGHTS = range(127, 95, -1)
"""The weights that are tried; a large one gives the offset fine steps."""
NUDGES = (0, -1, 1, -2, 2)
"""The distances from the offset that are tried, in steps."""
WIDE_NUDGES = range(-4, 5)
"""The distances that are tried where ``NUDGES`` leave a wrong value."""


@rule("BatchNormalization")
def batch_normalization(ctx: Context, node: Node) -> None:
    x = ctx.mapped(node.inputs[0])
    require(windows.one_or_two_sides, len(x.shape))
    constants = [real_constant(ctx, name) for name in node.inputs[1:5]]
    require(general.parameters_constant, constants)
    gamma, beta, mean, variance = (np.asarray(value) for value in constants)
    factor = gamma / np.sqrt(variance + float(node.attributes.get("epsilon", 1e-5)))
    ctx.values[node.output] = Affine(x, factor, beta - mean * factor, node)


def finished(ctx: Context, value: Affine, quantiser: Node, params: Params) -> Mapped:
    """The map with the first weight and offset of each channel that give onnxruntime's result for all 256 values.

    If none do, the channel has those that give most.
    """
    letters = letters_for(len(value.source.shape))
    assert letters is not None
    source = arranged(ctx, value.source, letters)
    scale = value.factor * source.params.scale / params.scale
    require(general.scale_fits, np.abs(scale).astype(np.float32))
    offset = value.offset / params.scale - source.params.zero_point * scale
    finish = Finish(params.zero_point, quantised(value.lo, params), quantised(value.hi, params))
    weights, fit, wrong = fitted_channels(scale, offset, _target(ctx, value, quantiser, params), finish)
    tensor = ctx.tensor(quantiser.output, ctx.map_shape(source), params)
    kernel = weights.astype(np.int8).reshape(-1, 1, 1, 1)
    op = Conv(value.node.name, (source.tensor,), (tensor,), Window((1, 1)), kernel, fit, finish, len(scale), 0)
    made = ctx.add(op, plain(letters, source.shape), params)
    ctx.doubt(ctx.made[made.tensor].name, wrong, 256 * len(scale), "values of its channels")
    return made


def _target(ctx: Context, value: Affine, quantiser: Node, params: Params) -> Int64:
    """onnxruntime's quantised results for all values (rows) in each channel."""
    chain = [quantiser]
    while chain[0] is not value.node:
        chain.insert(0, ctx.producers[chain[0].inputs[0]])
    chain = [*(ctx.producers[name] for name in value.node.inputs[1:] if name in ctx.producers), *chain]
    name = value.node.inputs[0]
    shape = (256, len(value.factor), *[1] * (len(value.source.shape) - 2))
    types = {**ctx.model.types, name: TensorType(ctx.model.elem(name), shape)}
    types |= {node.output: TensorType(ctx.model.elem(node.output), None) for node in chain}
    real = (CODES - value.source.params.zero_point).astype(np.float32) * np.float32(value.source.params.scale)
    feeds = {name: np.ascontiguousarray(np.broadcast_to(real.reshape(-1, *[1] * (len(shape) - 1)), shape))}
    part = part_proto(replace(ctx.model, types=types), chain, [name], [quantiser.output])
    found = run_session(session(part, threads=1), feeds)[quantiser.output].reshape(shape[:2]).astype(np.int64)
    return found - (params.stored - params.zero_point)


def fitted_channels(scale: Float64, offset: Float64, target: Int64, finish: Finish) -> tuple[Int64, Requantisation, int]:
    """The weights, their requantisation, and the number of values that these do not give."""
    channels = len(scale)
    best = np.full(channels, 257)
    weights, bias, units = np.zeros(channels, np.int64), np.zeros(channels, np.int64), np.ones(channels)
    for weight in WEIGHTS:
        unit = np.where(scale != 0, np.abs(scale) / weight, 1.0)
        signed = np.where(scale != 0, np.sign(scale) * weight, 0).astype(np.int64)
        middle = np.rint(offset / unit)
        require(general.bias_fits, middle)
        for nudge in NUDGES:
            trial = middle.astype(np.int64) + nudge
            wrong = (_results(signed, trial, unit, finish) != target).sum(axis=0)
            better = wrong < best
            best, bias, weights, units = (
                np.where(better, new, old)
                for new, old in ((wrong, best), (trial, bias), (signed, weights), (unit, units))
            )
            if not best.any():
                break
        if not best.any():
            break
    for channel in np.flatnonzero(best):
        found = _any_unit(scale[channel], offset[channel], target[:, channel], finish)
        if found is not None:
            weights[channel], bias[channel], units[channel] = found
            best[channel] = 0
    final = units.astype(np.float32)
    assert representable(final)
    mantissa, shift = records(final)
    return weights, Requantisation(bias.astype(np.int32), mantissa, shift), int(best.sum())


def _any_unit(scale: float, offset: float, target: Int64, finish: Finish) -> tuple[int, int, float] | None:
    """A weight, an offset and a unit that give all values of one channel; the unit need not fit the real factor.

    For a given weight and offset each value bounds the unit from both sides, so that all units are tried at once.
    """
    if scale == 0:
        return None
    weights = np.repeat(np.arange(1, 128) * int(np.sign(scale)), len(WIDE_NUDGES))
    bias = np.rint(offset / (scale / weights)).astype(np.int64) + np.tile(WIDE_NUDGES, 127)
    total = CODES[:, None] * weights + bias
    wanted = (target - finish.zero_point)[:, None] + np.array([-0.5, 0.5])
    wanted[target <= finish.lo, 0], wanted[target >= finish.hi, 1] = -np.inf, np.inf
    low, high = np.where(total[..., None] > 0, wanted[:, None], -wanted[:, None, ::-1]).transpose(2, 0, 1)
    size = np.abs(total)  # 0 lies within its bounds, or no unit brings it there; infinite quotients show it.
    with np.errstate(divide="ignore", invalid="ignore"):
        least, most = np.nanmax(low / size, axis=0), np.nanmin(high / size, axis=0)
    for n in np.flatnonzero(least <= most)[::-1]:
        unit = (max(least[n], 0.0) + most[n]) / 2
        chosen = weights[n : n + 1], bias[n : n + 1], np.array([unit])
        if unit > 0 and np.isfinite(unit) and np.array_equal(_results(*chosen, finish)[:, 0], target):
            return int(weights[n]), int(bias[n]), float(unit)
    return None


def _results(weights: Int64, bias: Int64, unit: Float64, finish: Finish) -> Int64:
    """The machine's results for all values (rows) in each channel."""
    mantissa, shift = records(unit.astype(np.float32))
    scale = np.ldexp(mantissa.astype(np.float64), -shift.astype(np.int64)).astype(np.float32)
    total = (CODES[:, None] * weights + bias).astype(np.float32)
    rounded: Int64 = np.clip(np.rint(total * scale), -32768, 32767).astype(np.int64)
    return np.minimum(np.maximum(rounded + finish.zero_point, finish.lo), finish.hi)
