"""Quantisers: from what values a tensor takes to its scale and zero-point."""

from __future__ import annotations

import math
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from compiler.frontend.importer.values import Params
from compiler.quantise.statistics import Statistics

Float = NDArray[np.float32]
CANDIDATES = 4
"""Radix positions that are tried below the one that holds the greatest value."""
_SAMPLE = 65536
_SHRINKS = (1.0, 0.9, 0.8, 0.7, 0.6, 0.5)


class Scheme(Protocol):
    """How activations (per tensor) and weights (per output channel or per layer) are quantised."""

    name: str

    def activation(self, values: Statistics) -> Params: ...

    def weights(self, values: Float, axis: int) -> Float:
        """One scale, or one for each index of the axis."""


def squared_error(values: Float, scale: float, zero_point: int = 0) -> float:
    """Of rounding and of clipping."""
    stored = np.clip(np.rint(values / np.float32(scale)) + zero_point, -128, 127)
    return float(np.square((stored - zero_point) * np.float32(scale) - values, dtype=np.float64).sum())


class PowerOfTwo:
    """Radix positions: scales are powers of two and zero-points 0, each layer's the candidate of least squared error."""

    name = "power_of_two"

    def activation(self, values: Statistics) -> Params:
        return Params(self._best(values.sample, max(-values.low, values.high)), 0)

    def weights(self, values: Float, axis: int) -> Float:
        flat = values.reshape(-1)
        sample = flat if flat.size <= _SAMPLE else flat[:: flat.size // _SAMPLE]
        return np.array([self._best(sample, max(-float(flat.min(initial=0.0)), float(flat.max(initial=0.0))))], np.float32)

    @staticmethod
    def _best(sample: Float, greatest: float) -> float:
        if greatest == 0.0:
            return 2.0**-7
        radix = math.ceil(math.log2(greatest / 127))
        candidates = [2.0 ** (radix - k) for k in range(CANDIDATES)]
        return min(candidates, key=lambda scale: squared_error(sample, scale))


class Free:
    """Any scale: activations asymmetric per tensor, weights symmetric per output channel."""

    name = "free"

    def activation(self, values: Statistics) -> Params:
        low, high = min(values.low, 0.0), max(values.high, 0.0)
        if low == high:
            return Params(float(np.float32(1 / 127)), 0)
        candidates = [self._params(low * shrink, high * shrink) for shrink in _SHRINKS]
        return min(candidates, key=lambda p: squared_error(values.sample, p.scale, p.zero_point))

    @staticmethod
    def _params(low: float, high: float) -> Params:
        scale = float(np.float32((high - low) / 255))
        return Params(scale, int(np.clip(round(-128 - low / scale), -128, 127)))

    def weights(self, values: Float, axis: int) -> Float:
        others = tuple(i for i in range(values.ndim) if i != axis)
        greatest = np.abs(values).max(axis=others)
        return np.where(greatest > 0, greatest / 127, 1 / 127).astype(np.float32)


SCHEMES: dict[str, Scheme] = {scheme.name: scheme for scheme in (PowerOfTwo(), Free())}
