"""Chooses the clipping threshold of a tensor that keeps the Kullback-Leibler divergence of its int8 values, in bits, least."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

LEVELS = 128
"""The distances from zero that int8 tells apart."""
STEP = 8
"""The bins between two thresholds that are tried."""
UNSEEN = 1e-9
"""The count that stands for a bin without values where the clipped tensor has some."""


def best_threshold(counts: NDArray[np.int64]) -> int:
    """The number of bins to keep; ``counts`` are by the distance from zero. Values beyond are clipped to the last bin."""
    places = np.flatnonzero(counts)
    used = int(places[-1]) + 1 if len(places) else 0
    if used <= LEVELS:
        return used
    tried = [*range(LEVELS, used, STEP), used]
    found: int = min(tried, key=lambda kept: divergence(counts, kept))
    return found


def divergence(counts: NDArray[np.int64], kept: int) -> float:
    """The divergence between the counts, clipped to ``kept`` bins, and the same counts after rounding to ``LEVELS`` levels.

    The count of a level is spread evenly over its used bins.
    """
    inside = counts[:kept].astype(np.float64)
    clipped = inside.copy()
    clipped[-1] += counts[kept:].sum()
    level = np.arange(kept) * LEVELS // kept
    used = inside > 0
    sums = np.bincount(level, inside, LEVELS)
    bins = np.bincount(level, used, LEVELS)
    spread = np.where(used, sums[level] / np.maximum(bins[level], 1), 0.0)
    there = clipped > 0
    p = clipped[there] / clipped.sum()
    q = np.maximum(spread[there] / max(spread.sum(), 1.0), UNSEEN)
    return float((p * np.log(p / q)).sum())
