"""Finds constants of MISC that give a function of two maps in all 65 536 cases.

A case bounds its sum ``x * m_x + y * m_y + C`` on both sides. For given factors, ``C`` is right within an interval, if there is
one. The nearest factors are tried first; then their neighbours. If no constants give all cases, those that they do not give are
counted.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from compiler.frontend.importer.requantise import FACTOR_BITS, MOST_ELTWISE_SHIFT, factors

Int64 = NDArray[np.int64]
RADIUS = 24
"""The distance from the nearest factors up to which others are tried."""
_FAR = 1 << 46
"""A number beyond every sum, and within the constant's 48 bits."""


@dataclass(frozen=True)
class Fit:
    """Constants, and the number of cases that they do not give, ``wrong``."""

    factors: tuple[int, int]
    c: int
    shift: int
    wrong: int


def fitted(x: Int64, y: Int64, ratios: tuple[float, float], target: Int64, lo: int, hi: int) -> Fit:
    """The constants that give most cases.

    ``x`` and ``y`` are what the factors multiply in each case. ``ratios`` are the real factors. Results are clamped to ``lo``
    and ``hi``.
    """
    x, y, target = x.reshape(-1), y.reshape(-1), target.reshape(-1)
    _, nearest = factors(*ratios)
    found: Fit | None = None
    for shift in (nearest + 1, nearest, nearest - 1):
        if not 0 <= shift <= MOST_ELTWISE_SHIFT or max(map(abs, ratios)) * 2**shift + RADIUS >= 1 << FACTOR_BITS:
            continue
        least, most = _bounds(target, shift, lo, hi)
        m_x, m_y = (round(r * 2**shift) for r in ratios)
        base = x * m_x + y * m_y
        lower, upper = least - base, most - base
        d_x, d_y, floor, ceiling = _searched(x, y, lower, upper, RADIUS if ratios[1] else 0)
        c = (floor + ceiling) // 2
        total = base + x * d_x + y * d_y + c
        wrong = int(((total < least) | (total > most)).sum())
        if found is None or wrong < found.wrong:
            found = Fit((m_x + d_x, m_y + d_y), c, shift, wrong)
        if not wrong:
            break
    assert found is not None, "the ratios were checked to be representable"
    return found


def right(x: Int64, y: Int64, m: tuple[int, int], c: int, shift: int, target: Int64, lo: int, hi: int) -> bool:
    """Whether these constants give all cases."""
    least, most = _bounds(target, shift, lo, hi)
    total = x * m[0] + y * m[1] + c
    return bool(((total >= least) & (total <= most)).all())


def _bounds(target: Int64, shift: int, lo: int, hi: int) -> tuple[Int64, Int64]:
    """The least and the greatest sum that give each result. Ties go to the even result; ``lo`` and ``hi`` clamp.

    A sum that 24 significant bits cannot tell from a tie is a tie.
    """
    odd = target & 1
    half = (1 << shift) >> 1
    tie = odd if shift else np.zeros_like(odd)
    least = (target << shift) - half + tie + np.where(odd, 1, -1) * _unseen(2 * target - 1, shift)
    most = (target << shift) + half - tie - np.where(odd, 1, -1) * _unseen(2 * target + 1, shift)
    return np.where(target <= lo, -_FAR, least), np.where(target >= hi, _FAR, most)


def _unseen(halves: Int64, shift: int) -> Int64:
    """The distance from ``halves / 2`` (times ``2^shift``) up to which 24 significant bits round a sum to it."""
    exponent = np.frexp(np.abs(halves))[1] - 2
    unseen: Int64 = np.floor(np.ldexp(1.0, exponent + shift - 24)).astype(np.int64)
    return unseen


def _searched(x: Int64, y: Int64, lower: Int64, upper: Int64, radius_y: int) -> tuple[int, int, int, int]:
    """The changes of both factors, and the interval of ``C`` that they leave: the widest one, or else the least empty one.

    Only cases are looked at that some change can make the tightest.
    """
    if lower.max() <= upper.min():
        return 0, 0, int(lower.max()), int(upper.min())
    reach = 2 * (RADIUS * int(np.abs(x).max()) + radius_y * int(np.abs(y).max()))
    low, high = lower >= lower.max() - reach, upper <= upper.min() + reach
    d_x, d_y = np.arange(-RADIUS, RADIUS + 1), np.arange(-radius_y, radius_y + 1)
    floor = _tightest(np.maximum, lower[low], x[low], y[low], d_x, d_y)
    ceiling = _tightest(np.minimum, upper[high], x[high], y[high], d_x, d_y)
    row, column = np.unravel_index(int((ceiling - floor).argmax()), floor.shape)
    return int(d_x[row]), int(d_y[column]), int(floor[row, column]), int(ceiling[row, column])


def _tightest(extreme: np.ufunc, bound: Int64, x: Int64, y: Int64, d_x: Int64, d_y: Int64) -> Int64:
    """The bound on ``C`` that holds for all cases, for each change of both factors: first for each ``x``, then for all."""
    order = np.argsort(x, kind="stable")
    each, starts = np.unique(x[order], return_index=True)
    of_each = extreme.reduceat(bound[order, None] - y[order, None] * d_y, starts, axis=0)
    return np.array([extreme.reduce(of_each - (each * d)[:, None], axis=0) for d in d_x], np.int64)
