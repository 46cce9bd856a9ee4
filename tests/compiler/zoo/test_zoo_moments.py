"""The rules that follow mean and variance, against samples."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from compiler.zoo.moments import LEAST_CENTRED, Moments, added, concatenated, weights

SAMPLES = 200_000
GIVEN = Moments(0.4, 2.25)


def drawn(moments: Moments, seed: int, count: int = SAMPLES) -> NDArray[np.float64]:
    return np.random.default_rng(seed).normal(moments.mean, moments.variance**0.5, count)


def agrees(moments: Moments, sample: NDArray[np.float64]) -> bool:
    return bool(np.allclose([moments.mean, moments.variance], [sample.mean(), sample.var()], rtol=0.02, atol=0.02))


@pytest.mark.parametrize("slope", [0.0, 0.1])
@pytest.mark.parametrize("given", [Moments(), GIVEN, Moments(-1.0, 0.5)])
def test_rectified(given: Moments, slope: float) -> None:
    x = drawn(given, 0)
    assert agrees(given.rectified(slope), np.where(x < 0, slope * x, x))


def test_added() -> None:
    assert agrees(added(Moments(), GIVEN), drawn(Moments(), 0) + drawn(GIVEN, 1))


def test_concatenated() -> None:
    parts = [(1, Moments(-1.0, 0.5)), (3, GIVEN)]
    sample = np.concatenate([drawn(moments, seed, SAMPLES * count) for seed, (count, moments) in enumerate(parts)])
    assert agrees(concatenated(parts), sample)


@pytest.mark.parametrize("taps", [4, 9])
def test_maximum_of_rectified_pixels(taps: int) -> None:
    """Of pixels that are half alike, within a third."""
    shared, own = drawn(Moments(), 0)[:, None], drawn(Moments(), 1, SAMPLES * taps).reshape(-1, taps)
    pooled = np.maximum((shared + own) / 2**0.5, 0).max(axis=1)
    found = Moments().rectified().maximum(taps)
    assert found.power / np.square(pooled).mean() == pytest.approx(1, abs=1 / 3)


@pytest.mark.parametrize("fan_in", [9, LEAST_CENTRED, 576])
@pytest.mark.parametrize("inside", [1.0, 0.5])
def test_weighted_sums_have_variance_one(fan_in: int, inside: float) -> None:
    """Small kernels see the mean of what they read, large ones are centred; padding is what is not ``inside``."""
    read = Moments(0.8, 0.5)
    w = weights(np.random.default_rng(0), (4000, fan_in), fan_in, read, inside)
    x = drawn(read, 1, 4000 * fan_in).reshape(w.shape)
    x *= np.random.default_rng(2).random(w.shape) < inside
    sums = (w * x).sum(axis=1)
    assert sums.var() == pytest.approx(1, rel=0.12)
    assert np.allclose(w.sum(axis=1), 0, atol=1e-4) == (fan_in >= LEAST_CENTRED)


@pytest.mark.parametrize("fan_in", [9, LEAST_CENTRED])
def test_weights_of_a_map_that_is_zero(fan_in: int) -> None:
    """A ReLU after what is negative everywhere leaves nothing to scale by."""
    assert np.isfinite(weights(np.random.default_rng(0), (4, fan_in), fan_in, Moments(0.0, 0.0))).all()
