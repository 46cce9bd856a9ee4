"""Weight, offset and unit of each channel of a batch normalisation, beside the line that it is rounded from."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from compiler.frontend.importer.kernels import CODES
from compiler.frontend.importer.normalised import fitted_channels
from compiler.xgraph.ops import Finish, Requantisation

CHANNELS = 400


def lines(least: float, most: float) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    rng = np.random.default_rng(7)
    return rng.uniform(least, most, CHANNELS) * rng.choice([-1, 1], CHANNELS), rng.normal(0, 20, CHANNELS)


def wanted(scale: NDArray[np.float64], offset: NDArray[np.float64], finish: Finish) -> NDArray[np.int64]:
    real = np.rint(CODES[:, None] * scale + offset).astype(np.int64)
    return np.clip(real + finish.zero_point, finish.lo, finish.hi)


def machine(weights: NDArray[np.int64], fit: Requantisation, finish: Finish) -> NDArray[np.int64]:
    """Sum, product of 24 bits, shift, rounding to even, zero-point, bounds: in whole numbers."""
    found = np.empty((256, len(weights)), np.int64)
    for channel, weight in enumerate(weights.tolist()):
        mantissa, shift = int(fit.mantissa[channel]), int(fit.shift[channel])
        for n, code in enumerate(CODES.tolist()):
            product = float(np.float32((code * weight + int(fit.bias[channel])) * mantissa)) / 2.0**shift
            found[n, channel] = min(max(round(product) + finish.zero_point, finish.lo), finish.hi)
    return found


@pytest.mark.parametrize(
    ("least", "most", "left"), [(0.05, 1.0, 0), (1.0, 1.6, 0), (1.6, 2.5, 8)], ids=["flat", "usual", "steep"]
)
def test_all_values_of_nearly_all_channels_are_right(least: float, most: float, left: int) -> None:
    """Steep lines have coarse offsets, twice a 127th of a step: a few of 400 channels miss one value."""
    scale, offset = lines(least, most)
    finish = Finish(-3, -128, 127)
    target = wanted(scale, offset, finish)
    weights, fit, wrong = fitted_channels(scale, offset, target, finish)
    assert np.abs(weights).max() <= 127
    assert wrong == (machine(weights, fit, finish) != target).sum() <= left


def test_bounds_and_a_channel_that_is_constant() -> None:
    scale, offset = np.array([0.0, 0.9, -1.3]), np.array([5.0, 0.25, -7.7])
    finish = Finish(10, 10, 90)
    target = wanted(scale, offset, finish)
    weights, fit, wrong = fitted_channels(scale, offset, target, finish)
    assert (machine(weights, fit, finish) == target).all()
    assert (weights[0], wrong) == (0, 0)
