"""Where to clip so that what int8 tells of a tensor differs least from it, in bits: the least Kullback-Leibler divergence."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

LEVELS = 128
"""Distances from zero that int8 tells apart."""
STEP = 8
"""Bins between two thresholds that are tried."""
UNSEEN = 1e-9
"""What a bin counts as that holds values where the clipped tensor has none."""


def best_threshold(counts: NDArray[np.int64]) -> int:
    """Of values counted by their distance from zero: the number of bins that are kept; all others are clipped to the last."""
    places = np.flatnonzero(counts)
    used = int(places[-1]) + 1 if len(places) else 0
    if used <= LEVELS:
        return used
    tried = [*range(LEVELS, used, STEP), used]
    found: int = min(tried, key=lambda kept: divergence(counts, kept))
    return found


def divergence(counts: NDArray[np.int64], kept: int) -> float:
    """Of the counts, clipped to ``kept`` bins, from what is left of them in ``LEVELS`` levels, spread evenly over used bins."""
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
