"""The integers of ROW: what softmax and normalisation are on chip, and the constants that they take.

Softmax of a row: ``y = rne(16 T[x - max] / sum E[x - max]) + zp``, clamped. ``E`` and ``T`` are tables of 256 entries, of
denominators and numerators: ``e^(scale d)`` in Q0.30, and the same times ``1 / output scale`` in Q9.26. Sum and quotient are
exact.

Normalisation of a row of ``n`` elements: with ``S`` and ``S2`` the exact sums of ``x`` and of its squares (``S = 0`` for RMS),
``D = 2^14 (n S2 - S^2) + K`` is made a number of 56 bits by powers of four, ``4^e D``. ``R`` is its root of 28 bits, and
``Q = 2^62 div R``. Then ``z = (n x - S) Q / 2^(27 - e)`` is the normalised value, a whole number of 2^-27:

    P = n Q >> (20 - e)     M = S Q >> (20 - e)     u = (x P - M) >> 8      (no shift where e > 20: there u is 0)
    y = rne((u G + 2^18 B) / 2^F) + zp, clamped     F = 45 - 3 shift

``G`` (27 bits) and ``B`` (37 bits) are a channel's factor and offset, ``K`` stands for the epsilon. All shifts round down.
``compiler/definitions`` writes both as ONNX functions of integer operators; onnxruntime, which runs them, is the oracle.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from isa.errors import TilewrightError

Ints = npt.NDArray[np.int64]

E_BITS, T_BITS = 31, 35
T_SHIFT = 4
"""The bits that a numerator's binary point has less than a denominator's."""
MOST_QUOTIENT = 255
"""The greatest quotient. A greater one would be clamped, too."""
D_BITS, D_FRACTION, K_BITS = 56, 14, 48
R_BITS, Q_POINT = 28, 62
P_SHIFT, U_SHIFT, U_POINT = 20, 8, 27
G_BITS, B_BITS = 27, 37
B_SHIFT = 18
MOST_F, F_STEP, SHIFTS = 45, 3, 4


class RowError(TilewrightError):
    """Raised for a softmax or normalisation whose numbers ROW cannot hold."""


def exponentials(scale: float, output_scale: float) -> tuple[Ints, Ints]:
    """``E`` and ``T`` of ``d = -255 .. 0``, for inputs and outputs of these scales."""
    powers = np.exp(np.arange(-255, 1) * np.longdouble(scale))
    tables = np.rint(powers * (1 << 30)), np.rint(powers * (1 << 30 - T_SHIFT) / np.longdouble(output_scale))
    if not (scale > 0 and output_scale > 0 and tables[1].max() < 1 << T_BITS):
        raise RowError(
            f"softmax from scale {scale} to {output_scale}: expected scales above 0, of the output above 1/512; "
            "keep it on the CPU"
        )
    return tables[0].astype(np.int64), tables[1].astype(np.int64)


def factors(gamma: npt.ArrayLike, beta: npt.ArrayLike, output_scale: float) -> tuple[Ints, Ints, int]:
    """``G`` and ``B`` of each channel, and the least ``shift`` that holds them all."""
    wanted = np.asarray(gamma, np.float64) / output_scale, np.asarray(beta, np.float64) / output_scale
    for shift in range(SHIFTS):
        point = MOST_F - F_STEP * shift
        g, b = (np.rint(np.ldexp(values, point - low)) for values, low in zip(wanted, (U_POINT, B_SHIFT), strict=True))
        if _within(g, G_BITS) and _within(b, B_BITS):
            return g.astype(np.int64), b.astype(np.int64), shift
    raise RowError(
        f"normalisation to scale {output_scale}: gamma or beta is {max(np.abs(v).max() for v in wanted):.3g} steps of it, "
        "more than ROW holds; keep it on the CPU"
    )


def below_root(epsilon: float, length: int, scale: float) -> int:
    """``K`` for rows of ``length`` elements with steps of ``scale``. It is at least 1, since a root of 0 has no reciprocal."""
    k = round(epsilon * length**2 / scale**2 * (1 << D_FRACTION))
    if not 0 <= k < 1 << K_BITS:
        raise RowError(
            f"normalisation of scale {scale}: epsilon {epsilon} is {k} of its units, expected 0 to 2^48; keep it on the CPU"
        )
    return max(1, k)


def exp_words(e: Ints, t: Ints) -> npt.NDArray[np.uint8]:
    """The words of EXP: 256 of 9 bytes."""
    words = np.zeros((256, 9), np.uint8)
    words[:, :4] = e.astype("<u4").view(np.uint8).reshape(256, 4)
    words[:, 4:] = t.astype("<u8").view(np.uint8).reshape(256, 8)[:, :5]
    return words


def exp_tables(words: npt.NDArray[np.uint8]) -> tuple[Ints, Ints]:
    """``E`` and ``T`` of these words."""
    wide = np.zeros((256, 16), np.uint8)
    wide[:, :4], wide[:, 8:13] = words[:, :4], words[:, 4:]
    e, t = wide.view("<i8").T
    return e & (1 << E_BITS) - 1, t & (1 << T_BITS) - 1


def norm_records(g: Ints, b: Ints) -> npt.NDArray[np.uint8]:
    """The records of NORM, 8 bytes for each channel."""
    records = (g & (1 << G_BITS) - 1) | b << G_BITS
    return records.astype("<i8").view(np.uint8).reshape(-1, 8)


def norm_factors(records: npt.NDArray[np.uint8]) -> tuple[Ints, Ints]:
    """``G`` and ``B`` of these records."""
    words = np.ascontiguousarray(records).view("<i8").reshape(-1)
    g = words & (1 << G_BITS) - 1
    return g - ((g >> G_BITS - 1) << G_BITS), words >> G_BITS


def _within(values: npt.NDArray[np.float64], bits: int) -> bool:
    return bool((np.abs(values) < 1 << bits - 1).all())
