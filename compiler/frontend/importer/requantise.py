"""Real factors as the machine multiplies with them: 24-bit mantissas and shifts, or 26-bit factors and one shift."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from compiler.frontend.importer.values import Params
from compiler.frontend.model import Array
from compiler.xgraph.ops import Requantisation
from isa.requantisation import MOST_SHIFT, SCALE_BITS

FACTOR_BITS = 25
"""The magnitude bits of a MISC factor."""
MOST_ELTWISE_SHIFT = 37
"""The greatest shift for which a zero-point shifted left by it, and every sum, stays within the 48-bit constant."""

NEAR = 64
"""The number of factors that are tried on each side of the nearest one."""
FAR = 512
"""The number beyond which every integer is clamped, whatever the zero-point."""

Float32 = NDArray[np.float32]


def records(scale: Float32) -> tuple[NDArray[np.uint32], NDArray[np.uint8]]:
    """Mantissas and shifts with ``mantissa / 2^shift`` equal to the float32 scale, or nearest to it if it is below 2^-40."""
    fraction, exponent = np.frexp(scale.astype(np.float64))
    shift = SCALE_BITS - exponent.astype(np.int64)
    mantissa = np.rint(np.ldexp(fraction, SCALE_BITS)).astype(np.int64)
    excess = np.maximum(shift - MOST_SHIFT, 0)
    mantissa = np.rint(np.ldexp(mantissa.astype(np.float64), -excess.astype(np.int32))).astype(np.int64)
    mantissa = np.where(shift < 0, mantissa << np.maximum(-shift, 0), mantissa)
    return mantissa.astype(np.uint32), np.clip(shift, 0, MOST_SHIFT).astype(np.uint8)


def representable(scale: Float32) -> bool:
    """Whether all scales are below 2^24, the greatest mantissa."""
    return bool((scale >= 0).all() and (scale < 1 << SCALE_BITS).all())


def requantisation(bias: NDArray[np.int64], scale: Float32) -> Requantisation:
    """The requantisation with this bias, which wraps to 32 bits like the accumulator, and this scale."""
    mantissa, shift = records(np.broadcast_to(scale, bias.shape))
    return Requantisation(bias.astype(np.int32), mantissa, shift)


def output_scale(unit: Float32, params: Params) -> Float32:
    """The factor from accumulator units to output units, rounded as onnxruntime rounds it."""
    return np.asarray(unit, np.float32) / np.float32(params.scale)


def factors(*ratios: float) -> tuple[tuple[int, ...], int]:
    """Whole factors and a common shift whose ``factor / 2^shift`` are as near to the ratios as 26 bits allow."""
    greatest = max(abs(r) for r in ratios)
    exponent = math.frexp(greatest)[1] if greatest else 0
    shift = min(max(FACTOR_BITS - 1 - exponent, 0), MOST_ELTWISE_SHIFT)
    return tuple(round(r * 2**shift) for r in ratios), shift


def exact_factors(sources: Sequence[Params], target: Params) -> tuple[tuple[int, ...], int] | None:
    """Factors that take each of 256 values of every source to the integer that DequantizeLinear and QuantizeLinear give.

    They are the nearest ones, or others close by; None if there are none.
    """
    nearest, shift = factors(*(source.scale / target.scale for source in sources))
    found = []
    for source, factor in zip(sources, nearest, strict=True):
        values = _stored() - source.zero_point
        exact = _exact_factor(values, np.float32(source.scale) * values.astype(np.float32), target, factor, shift)
        if exact is None:
            return None
        found.append(exact)
    return tuple(found), shift


def best_slopes(source: Params, slope: Params, target: Params, slopes: Array) -> tuple[tuple[int, int], int, int, int]:
    """Factors for negative values times their slopes and for the other values, their shift, the wrong cases, and all cases.

    Among close factors these have the fewest cases in which DequantizeLinear, PRelu and QuantizeLinear give another integer.
    """
    steep, flat = source.scale * slope.scale / target.scale, source.scale / target.scale
    _, coarse = factors(steep, flat)
    x = _stored() - source.zero_point
    real = np.float32(source.scale) * x.astype(np.float32)
    whole = np.unique(slopes).astype(np.int64) - slope.zero_point
    slanted = real[x < 0, None] * (np.float32(slope.scale) * whole.astype(np.float32))
    sides = ((x[x < 0, None] * whole, slanted, steep), (x[x >= 0], real[x >= 0], flat))
    found = []
    for shift in (coarse + 1, coarse):
        if shift <= MOST_ELTWISE_SHIFT and max(abs(steep), abs(flat)) * 2**shift + NEAR < 1 << FACTOR_BITS:
            pair = [_best_factor(values, wanted, target, round(ratio * 2**shift), shift) for values, wanted, ratio in sides]
            found.append((pair[0][1] + pair[1][1], -shift, (pair[0][0], pair[1][0])))
        if found and not found[-1][0]:
            break
    wrong, turned, pair_of_factors = min(found)
    return pair_of_factors, -turned, wrong, sum(values.size for values, _, _ in sides)


def _stored() -> NDArray[np.int64]:
    """All values of an int8 map."""
    return np.arange(-128, 128)


def _exact_factor(values: NDArray[np.int64], real: Float32, target: Params, nearest: int, shift: int) -> int | None:
    """The factor closest to ``nearest`` that takes all values to their quantised real values; None if there is none."""
    factor, wrong = _best_factor(values, real, target, nearest, shift)
    return None if wrong else factor


def _best_factor(values: NDArray[np.int64], real: Float32, target: Params, nearest: int, shift: int) -> tuple[int, int]:
    """The factor near ``nearest`` for which the fewest values miss their quantised real values, and the number of these.

    Of several such factors it is the closest.
    """
    wanted = np.clip(np.rint(real / np.float32(target.scale)), -FAR, FAR)
    best = (nearest, values.size + 1)
    for m in (nearest + step for distance in range(NEAR) for step in (distance, -distance)):
        wrong = int((np.clip(_rounded(values * m, shift), -FAR, FAR) != wanted).sum())
        if wrong < best[1]:
            best = (m, wrong)
        if not wrong:
            break
    return best


def _rounded(total: NDArray[np.int64], shift: int) -> NDArray[np.float32]:
    rounded: NDArray[np.float32] = np.rint(np.ldexp(total.astype(np.float64), -shift).astype(np.float32))
    return rounded


def least_form(factors_: tuple[int, ...], c: int, shift: int) -> tuple[tuple[int, ...], int, int]:
    """The same sums, with common powers of two cancelled."""
    while shift and c % 2 == 0 and all(f % 2 == 0 for f in factors_):
        factors_, c, shift = tuple(f // 2 for f in factors_), c // 2, shift - 1
    return factors_, c, shift


def quantised(value: float, params: Params) -> int:
    """The int8 that stands for a real value, saturated."""
    if math.isinf(value):
        return 127 if value > 0 else -128
    stored = np.rint(np.float32(value) / np.float32(params.scale)) + params.zero_point
    return int(np.clip(stored, -128, 127))
