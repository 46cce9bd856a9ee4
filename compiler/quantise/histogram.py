"""Counts of values in bins whose width is a power of two: histograms of any ranges add up exactly, in any order."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

Counts = NDArray[np.int64]

BINS = 2048
"""The bins on each side of zero."""
_LEAST_EXPONENT = -160
"""The exponent of a histogram of nothing but zeros."""
_SCALES_UP = 0, 127
"""The exponents of powers of two that are float32 numbers and make no value smaller."""


@dataclass(frozen=True, eq=False)
class Histogram:
    """``counts[i]`` values lie from ``i - BINS`` up to the next number, times ``2^exponent``."""

    exponent: int
    counts: Counts

    @classmethod
    def of(cls, values: NDArray[Any], greatest: float | None = None) -> Histogram:
        """The histogram of values. ``greatest`` is the greatest distance from zero, if it is known."""
        flat = np.asarray(values, np.float32).reshape(-1)
        if greatest is None:
            greatest = max(-float(flat.min(initial=0.0)), float(flat.max(initial=0.0)))
        exponent = math.frexp(greatest)[1] - BINS.bit_length() + 1 if greatest else _LEAST_EXPONENT
        # Float32 is faster, but exact only where no value gets smaller: it has no numbers for the least values made smaller.
        exact = np.float32 if _SCALES_UP[0] <= -exponent <= _SCALES_UP[1] else np.float64
        places = flat * exact(math.ldexp(1.0, -exponent))
        np.floor(places, out=places)
        places += exact(BINS)
        return cls(exponent, np.bincount(places.astype(np.intp), minlength=2 * BINS).astype(np.int64))

    def joined(self, other: Histogram) -> Histogram:
        exponent = max(self.exponent, other.exponent)
        return Histogram(exponent, self._coarser(exponent) + other._coarser(exponent))

    def _coarser(self, exponent: int) -> Counts:
        places = ((np.arange(2 * BINS) - BINS) >> min(exponent - self.exponent, 63)) + BINS
        counts = np.zeros(2 * BINS, np.int64)
        np.add.at(counts, places, self.counts)
        return counts

    @property
    def total(self) -> int:
        return int(self.counts.sum())

    def edge(self, place: int) -> float:
        """The lower edge of a bin, which is the upper edge of the bin before."""
        return math.ldexp(place - BINS, self.exponent)

    def between(self, share: float) -> tuple[float, float]:
        """The edges of the fewest bins that leave out at most half of ``1 - share`` of the values on each side."""
        spare = int(self.total * (1.0 - share) / 2)
        below = np.cumsum(self.counts)
        low = int(np.searchsorted(below, spare, side="right"))
        high = int(np.searchsorted(below, self.total - spare, side="left"))
        return self.edge(low), self.edge(high + 1)

    def distances(self) -> Counts:
        """The counts by distance from zero, in ``BINS`` bins."""
        return self.counts[BINS:] + self.counts[:BINS][::-1]
