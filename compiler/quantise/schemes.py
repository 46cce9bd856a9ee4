"""Quantisation schemes: each finds a tensor's scale and zero-point from its values."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from compiler.frontend.importer.values import Params
from compiler.quantise.statistics import Statistics

Float = NDArray[np.float32]
Function = Callable[[Float], Float]
CANDIDATES = 4
"""The number of radix positions that are tried below the one that holds the greatest value."""
_SAMPLE = 65536
_TRIED = 8192
"""The number of values of a sample on which ranges are compared."""
_SHRINKS = tuple(part / 64 for part in range(64, 15, -1))
"""The parts of a range that are tried."""
_SHRINKS_OF_FUNCTIONS = tuple(part / 32 for part in range(32, -1, -1))
"""The parts that are tried where a function reads the tensor. They go down to 0: a function may be flat on one side."""


class Scheme(Protocol):
    """How activations (by tensor) and weights (by output channel or by layer) are quantised."""

    name: str

    def holding(self, low: float, high: float) -> Params:
        """The finest form that holds all values of a range, and 0."""

    def least_error(self, values: Statistics, function: Function | None = None) -> Params:
        """The form with the least squared error on the sample, or on results of ``function`` if only it reads the tensor."""

    def weights(self, values: Float, axis: int) -> Float:
        """The scales of weights: one, or one for each index of the axis."""


def squared_error(values: Float, scale: float, zero_point: int = 0) -> float:
    """The squared error of rounding and of clipping."""
    stored = np.clip(np.rint(values / np.float32(scale)) + zero_point, -128, 127)
    return float(np.square((stored - zero_point) * np.float32(scale) - values, dtype=np.float64).sum())


def errors_of(sample: Float, forms: Sequence[Params], function: Function | None = None) -> NDArray[np.float64]:
    """The squared errors of forms on the values, or on the function's results. Naive reference: ``squared_error``."""
    scales = np.array([form.scale for form in forms], np.float32)[:, None]
    zeros = np.array([form.zero_point for form in forms], np.float32)[:, None]
    stored = sample[None] / scales
    np.rint(stored, out=stored)
    stored += zeros
    np.clip(stored, -128, 127, out=stored)
    if function is None:
        stored -= zeros
        stored *= scales
        stored -= sample
        return np.asarray(np.square(stored, dtype=np.float64).sum(axis=1))
    levels = (np.arange(-128, 128, dtype=np.float32) - zeros) * scales
    expected, tables = function(sample), function(levels)
    places = stored.astype(np.int64) + (128 + 256 * np.arange(len(forms)))[:, None]
    apart = tables.reshape(len(tables), -1)[:, places] - expected[:, None]
    return np.asarray(np.square(apart, dtype=np.float64).sum(axis=(0, 2)))


class PowerOfTwo:
    """Radix positions: scales are powers of two, zero-points are 0. Each tensor gets the candidate of least squared error."""

    name = "power_of_two"

    def holding(self, low: float, high: float) -> Params:
        greatest = max(-low, high)
        return Params(2.0 ** math.ceil(math.log2(greatest / 127)) if greatest > 0.0 else 2.0**-7, 0)

    def least_error(self, values: Statistics, function: Function | None = None) -> Params:
        return Params(self._best(values.sample, max(-values.low, values.high), function), 0)

    def weights(self, values: Float, axis: int) -> Float:
        flat = values.reshape(-1)
        sample = flat if flat.size <= _SAMPLE else flat[:: flat.size // _SAMPLE]
        return np.array([self._best(sample, max(-float(flat.min(initial=0.0)), float(flat.max(initial=0.0))))], np.float32)

    @staticmethod
    def _best(sample: Float, greatest: float, function: Function | None = None) -> float:
        if greatest == 0.0:
            return 2.0**-7
        radix = math.ceil(math.log2(greatest / 127))
        candidates = [Params(2.0 ** (radix - k), 0) for k in range(CANDIDATES)]
        return candidates[int(errors_of(sample, candidates, function).argmin())].scale


class Free:
    """Any scale: activations are asymmetric by tensor, weights are symmetric by output channel."""

    name = "free"

    def holding(self, low: float, high: float) -> Params:
        low, high = min(low, 0.0), max(high, 0.0)
        return self._params(low, high) if low < high else Params(float(np.float32(1 / 127)), 0)

    def least_error(self, values: Statistics, function: Function | None = None) -> Params:
        """The form with the least squared error, with both ends drawn in together, then each end by itself."""
        sample = values.sample[:: -(-values.sample.size // _TRIED) or 1]
        low, high = min(values.low, 0.0), max(values.high, 0.0)
        shrinks = _SHRINKS if function is None else _SHRINKS_OF_FUNCTIONS

        def best(ranges: list[tuple[float, float]]) -> tuple[float, float]:
            return ranges[int(errors_of(sample, [self.holding(*ends) for ends in ranges], function).argmin())]

        low, high = best([(low * part, high * part) for part in shrinks])
        low, high = best([(low * part, high) for part in shrinks])
        low, high = best([(low, high * part) for part in shrinks])
        return self.holding(low, high)

    @staticmethod
    def _params(low: float, high: float) -> Params:
        scale = float(np.float32((high - low) / 255))
        return Params(scale, int(np.clip(round(-128 - low / scale), -128, 127)))

    def weights(self, values: Float, axis: int) -> Float:
        others = tuple(i for i in range(values.ndim) if i != axis)
        greatest = np.abs(values).max(axis=others)
        return np.where(greatest > 0, greatest / 127, 1 / 127).astype(np.float32)


SCHEMES: dict[str, Scheme] = {scheme.name: scheme for scheme in (PowerOfTwo(), Free())}
