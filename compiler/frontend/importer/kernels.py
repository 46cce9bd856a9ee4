"""The results of onnxruntime's integer kernels for every pair of 8-bit operands: the roundings of float32, in its order."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from compiler.frontend.importer.values import Params

Float32 = NDArray[np.float32]
Float64 = NDArray[np.float64]
Int64 = NDArray[np.int64]
CODES: Int64 = np.arange(-128, 128)
"""All values of a map."""
SIGNIFICAND = 24
"""The bits of float32's significand."""


def fused_multiply_add(a: Float32, b: Float32, c: Float32) -> Float32:
    """``a * b + c``, rounded once: the product is exact in float64, and the sum is rounded to odd before it becomes float32."""
    product: Float64 = a.astype(np.float64) * b.astype(np.float64)
    product, addend = np.broadcast_arrays(product, c.astype(np.float64))
    total = product + addend
    back = total - product
    error = (product - (total - back)) + (addend - back)
    bits = total.view(np.int64)
    inward = np.where((error > 0) == (total > 0), 1, -1)
    odd = np.where((error != 0) & (bits & 1 == 0), bits + inward, bits)
    rounded: Float32 = odd.view(np.float64).astype(np.float32)
    return rounded


def _stored(params: Params) -> Float32:
    """The values of a map as ONNX stores them."""
    return (CODES + params.stored - params.zero_point).astype(np.float32)


def _as_map(value: Float32, params: Params) -> Int64:
    """Real results, rounded and saturated as ONNX stores them, as values of the map."""
    codes: Int64 = np.clip(np.rint(value).astype(np.int64) - (params.stored - params.zero_point), -128, 127)
    return codes


def added(a: Params, b: Params, out: Params, *, single: bool = False) -> Int64:
    """QLinearAdd for all ``a`` (rows) and ``b``. With ``single``, ``a`` is one number for many of ``b``, and is added first."""
    scale = np.float32(out.scale)
    ratio_a, ratio_b = (np.asarray(np.float32(side.scale) / scale) for side in (a, b))
    zero_a, zero_b, zero = (np.asarray(side.stored, np.float32) for side in (a, b, out))
    fixed = np.asarray(zero - fused_multiply_add(ratio_a, zero_a, ratio_b * zero_b))
    x, y = _stored(a)[:, None], _stored(b)[None]
    if single:
        return _as_map(fused_multiply_add(y, ratio_b, fused_multiply_add(x, ratio_a, fixed)), out)
    return _as_map(fused_multiply_add(x, ratio_a, fused_multiply_add(y, ratio_b, fixed)), out)


def multiplied(a: Params, b: Params, out: Params) -> Int64:
    """QLinearMul for all ``a`` (rows) and ``b``."""
    ratio = np.float32(a.scale) * np.float32(b.scale) / np.float32(out.scale)
    product = ((CODES - a.zero_point)[:, None] * (CODES - b.zero_point)).astype(np.float32)
    return _as_map(product * ratio + np.float32(out.stored), out)


def between(kind: str, a: Params, b: Params, out: Params, lo: float, hi: float) -> Int64:
    """Add, Sub or Mul in float between DequantizeLinear and QuantizeLinear, for all ``a`` (rows) and ``b``."""
    x, y = (((CODES - side.zero_point).astype(np.float32) * np.float32(side.scale)) for side in (a, b))
    operation = {"Add": np.add, "Sub": np.subtract, "Mul": np.multiply}[kind]
    real = np.clip(operation(x[:, None], y), np.float32(lo), np.float32(hi))
    codes: Int64 = np.clip(np.rint(real / np.float32(out.scale)).astype(np.int64) + out.zero_point, -128, 127)
    return codes


def requantised(source: Params, out: Params, lo: float = -np.inf, hi: float = np.inf) -> Int64:
    """DequantizeLinear and QuantizeLinear of every value, which is also what QLinearConcat does with each part."""
    real = np.clip((CODES - source.zero_point).astype(np.float32) * np.float32(source.scale), np.float32(lo), np.float32(hi))
    codes: Int64 = np.clip(np.rint(real / np.float32(out.scale)).astype(np.int64) + out.zero_point, -128, 127)
    return codes


def noise_of_sums(source: Params, count: int) -> float:
    """The most by which roundings of float32 can change a sum of dequantised values, in units of their scale.

    Partial sums may be as great as values of one sign make them, whatever the sum is. A scale of few bits leaves nothing to
    round.
    """
    greatest = max(127 - source.zero_point, source.zero_point + 128)
    if significant_bits(source.scale) + (count * greatest).bit_length() <= SIGNIFICAND:
        return 0.0
    return greatest * (count * (count + 1) / 2 + count) * 2.0**-SIGNIFICAND


def averages_in_doubt(source: Params, out: Params, count: int, even: bool = True) -> int:
    """The number of window sums for which QLinearAveragePool's result depends on the order and the terms of its float32 sums.

    The kernel sums dequantised values, and rounds each time. A sum that is as near to a tie as these roundings reach may go
    either way. With ``even``, a tie falls alike whether it is rounded before or after the zero-point is added: what the machine
    adds after rounding is even, or onnxruntime adds it after rounding, too.
    """
    sums = np.arange(-128 * count, 127 * count + 1, dtype=np.float64) - source.zero_point * count
    mean = sums * (source.scale / (count * out.scale))
    result = mean + out.stored
    apart = np.abs(result - np.floor(result) - 0.5)
    noise = noise_of_sums(source, count) * (source.scale / (count * out.scale))
    reach = noise + np.abs(mean) * 3 * 2.0**-SIGNIFICAND + np.spacing(np.abs(result).astype(np.float32)) / 2
    inside = (result > out.stored - out.zero_point - 128.5) & (result < out.stored - out.zero_point + 127.5)
    exact = even and math.frexp(source.scale)[0] == math.frexp(out.scale)[0] == 0.5 and count & (count - 1) == 0
    return 0 if exact else int(((apart <= reach) & inside).sum())


def resizes_in_doubt(source: Params, out: Params, shares: int) -> int:
    """The number of sums of neighbours, with weights of ``shares`` in all, that a linear Resize in float may round otherwise.

    A scale of few bits leaves nothing to round before the division by the other scale: then every sum is tried.
    """
    if shares & (shares - 1) or significant_bits(source.scale) + 8 + shares.bit_length() - 1 > SIGNIFICAND:
        return averages_in_doubt(source, out, shares)
    sums = np.arange(-128 * shares, 127 * shares + 1, dtype=np.float64) - source.zero_point * shares
    scale, unit = np.float32(out.scale), np.float32(source.scale) * np.float32(1 / shares)
    theirs = np.rint((sums * float(unit)).astype(np.float32) / scale)
    mine = np.rint(sums * float(unit / scale))
    return int((np.clip(theirs + out.zero_point, -128, 127) != np.clip(mine + out.zero_point, -128, 127)).sum())


def significant_bits(value: float) -> int:
    """The number of bits of a float32's significand without the zeros at its end."""
    whole = int(math.ldexp(math.frexp(float(np.float32(value)))[0], SIGNIFICAND))
    return SIGNIFICAND - ((whole & -whole).bit_length() - 1)


def float_mean(totals: Int64, source: Params, count: int, divide: bool) -> Float32:
    """The result of ReduceMean or ReduceSum for values with these totals, where float32 holds every partial sum exactly."""
    total = totals.astype(np.float32) * np.float32(source.scale)
    mean: Float32 = total / np.float32(count) if divide else total
    return mean


def float_sums_in_doubt(source: Params, out: Params, count: int, divide: bool) -> int:
    """The number of sums whose step of ``out`` depends on how, and in which order, float32 rounds the partial sums.

    ReduceMean and ReduceSum add dequantised values, and may divide by ``count``. QuantizeLinear divides by the scale.
    """
    sums = np.arange(-128 * count, 127 * count + 1, dtype=np.float64) - source.zero_point * count
    result = sums * (source.scale / ((count if divide else 1) * out.scale))
    apart = np.abs(result - np.floor(result) - 0.5)
    noise = noise_of_sums(source, count) * (source.scale / ((count if divide else 1) * out.scale))
    reach = noise + np.abs(result) * 3 * 2.0**-SIGNIFICAND
    inside = (result > -out.zero_point - 128.5) & (result < -out.zero_point + 127.5)
    return int(((apart <= reach) & inside).sum())


def as_table(codes: Int64) -> NDArray[np.int8]:
    """The results in the order of a table, which is indexed by the two's complement bits of the map's value."""
    return np.roll(codes, -128).astype(np.int8)
