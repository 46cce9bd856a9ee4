"""Constants that give onnxruntime's mean or sum for every total that a window can have, and the totals that none give.

POOL rounds the product with a mantissa of 24 bits to 24 bits, as float32 does; a factor of MISC has 25. A factor that is not
the ratio itself takes ties apart, and whether the rounding brings them back differs from count to count: so every total is
tried, with the nearest factor and its neighbours.
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
"""Distances from the nearest factor."""


@dataclass(frozen=True)
class Scale:
    """``factor / 2^shift``; ``wrong``: totals whose result is not onnxruntime's, or may not be."""

    factor: int
    shift: int
    wrong: int = 0


def pool_factor(ratio: float) -> Scale:
    """POOL's nearest to a float32 number."""
    mantissa, shift = records(np.array([ratio], np.float32))
    return Scale(int(mantissa[0]), int(shift[0]))


@lru_cache(maxsize=4096)
def mean_scale(source: Params, out: Params, count: int, *, divide: bool, misc: bool) -> Scale:
    """ReduceMean or ReduceSum of ``count`` dequantised values in float32, then QuantizeLinear.

    Sums whose float32 roundings depend on their order stay in doubt whatever the factor (``kernels.float_sums_in_doubt``).
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
