"""Mean and variance of a feature map, followed through a network so that random weights can be scaled to them.

Weights drawn for the power of what they read keep every map near variance 1, however deep the network: a residual
branch, for one, adds 1 to the variance and does not double it. The rules are estimates (values taken as Gaussian,
maps as independent of each other), good to a factor of about two.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

LEAST_CENTRED = 16
"""Kernels with fewer weights keep their mean, which in a few taps is most of the signal."""


@dataclass(frozen=True)
class Moments:
    """The mean and variance of one feature map, over all its channels and pixels."""

    mean: float = 0.0
    variance: float = 1.0

    @property
    def power(self) -> float:
        return self.mean**2 + self.variance

    def rectified(self, slope: float = 0.0) -> Moments:
        """The moments after ReLU, or after LeakyReLU with that slope."""
        deviation = math.sqrt(self.variance)
        z = self.mean / deviation
        share = 0.5 * (1 + math.erf(z / math.sqrt(2)))
        density = math.exp(-0.5 * z * z) / math.sqrt(2 * math.pi)
        mean = self.mean * share + deviation * density
        power = self.power * share + self.mean * deviation * density
        mean, power = slope * self.mean + (1 - slope) * mean, slope**2 * (self.power - power) + power
        return Moments(mean, power - mean**2)

    def maximum(self, taps: int) -> Moments:
        """The moments after a maximum over ``taps`` neighbours, fitted to rectified maps, whose variance grows."""
        lift = 0.75 * math.sqrt(math.log2(taps))
        return Moments(self.mean + lift * math.sqrt(self.variance), 1.4 * self.variance)

    def average(self, taps: int) -> Moments:
        """The moments after an average over ``taps`` neighbours; the differences between channels stay."""
        return Moments(self.mean, self.variance * (0.3 + 0.7 / taps))


def added(a: Moments, b: Moments) -> Moments:
    return Moments(a.mean + b.mean, a.variance + b.variance)


def concatenated(parts: Sequence[tuple[int, Moments]]) -> Moments:
    """The moments of maps with the given numbers of channels, joined along channels."""
    channels = sum(count for count, _ in parts)
    mean = sum(count * part.mean for count, part in parts) / channels
    power = sum(count * part.power for count, part in parts) / channels
    return Moments(mean, power - mean**2)


def weights(
    rng: np.random.Generator, shape: tuple[int, ...], fan_in: int, read: Moments, inside: float = 1.0
) -> NDArray[np.float32]:
    """Random weights, output channels first, whose products with a map of moments ``read`` sum to variance 1.

    ``fan_in`` products make one sum, of which the share ``inside`` is not padding. Large kernels are centred (each
    output channel's weights sum to 0): then the mean of what they read does not grow from layer to layer.
    """
    drawn = rng.standard_normal(shape, dtype=np.float32)
    power = read.power * inside
    if fan_in >= LEAST_CENTRED:
        drawn -= drawn.mean(axis=tuple(range(1, len(shape))), keepdims=True)
        power = inside * (read.variance + (1 - inside) * read.mean**2)
    if power > 0:  # A map of zeros leaves every sum at 0.
        drawn *= np.float32(1 / math.sqrt(fan_in * power))
    return drawn
