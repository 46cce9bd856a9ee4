"""Finds constants that give onnxruntime's mean or sum for every total that a window can have, and counts where none do.

POOL rounds the product with a mantissa of 24 bits to 24 bits, as float32 does. A factor of MISC has 25 bits. A factor that is
not exactly the ratio takes ties apart; whether the rounding brings them back differs from count to count. So every total is
tried with the nearest factor and its neighbours.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from compiler.frontend.importer import kernels
from compiler.frontend.importer.kernels import Float64, Int64
from compiler.frontend.importer.requantise import FACTOR_BITS, MOST_ELTWISE_SHIFT, records
from compiler.frontend.importer.values import Params

NEIGHBOURS = (0, 1, -1, 2, -2)
"""The distances from the nearest factor that are tried."""


@dataclass(frozen=True)
class Scale:
    """The factor ``factor / 2^shift``; ``wrong`` counts totals whose result is not onnxruntime's, or may not be."""

    factor: int
    shift: int
    wrong: int = 0


def pool_factor(ratio: float) -> Scale:
    """POOL's nearest factor to a float32 number."""
    mantissa, shift = records(np.array([ratio], np.float32))
    return Scale(int(mantissa[0]), int(shift[0]))


@lru_cache(maxsize=4096)
def mean_scale(source: Params, out: Params, count: int, *, divide: bool, misc: bool) -> Scale:
    """The factor for ReduceMean or ReduceSum of ``count`` dequantised values in float32, then QuantizeLinear.

    A sum is in doubt whatever the factor, if its float32 roundings depend on the order (``kernels.float_sums_in_doubt``).
    """
    ratio = source.scale / ((count if divide else 1) * out.scale)
    if misc:
        shift = min(max(FACTOR_BITS - math.frexp(ratio)[1], 0), MOST_ELTWISE_SHIFT)
        nearest = Scale(round(ratio * 2**shift), shift)
    else:
        nearest = pool_factor(float(np.float32(source.scale) / np.float32(np.float32(out.scale) * (count if divide else 1))))
    if kernels.noise_of_sums(source, count):
        doubts = kernels.float_sums_in_doubt(source, out, count, divide)
        return Scale(nearest.factor, nearest.shift, doubts)
    totals = np.arange(-128 * count, 127 * count + 1, dtype=np.int64) - source.zero_point * count
    wanted = _quantised(kernels.float_mean(totals, source, count, divide) / np.float32(out.scale), out)
    best: Scale | None = None
    for step in NEIGHBOURS:
        factor = nearest.factor + step
        if not 0 < factor < 1 << (FACTOR_BITS if misc else kernels.SIGNIFICAND):
            continue
        made = _misc(totals, factor, nearest.shift) if misc else _pool(totals, factor, nearest.shift)
        wrong = int((_quantised(made, out) != wanted).sum())
        if best is None or wrong < best.wrong:
            best = Scale(factor, nearest.shift, wrong)
        if not wrong:
            break
    assert best is not None, "the ratio was checked to be representable"
    return best


def _pool(totals: Int64, factor: int, shift: int) -> kernels.Float32:
    scale = np.ldexp(np.float64(factor), -shift).astype(np.float32)
    product: kernels.Float32 = totals.astype(np.float32) * scale
    return product


def _misc(totals: Int64, factor: int, shift: int) -> kernels.Float32:
    total: Float64 = np.ldexp((totals * factor).astype(np.float64), -shift)
    return total.astype(np.float32)


def _quantised(real: kernels.Float32, out: Params) -> Int64:
    codes: Int64 = np.clip(np.rint(real).astype(np.int64) + out.zero_point, -128, 127)
    return codes
