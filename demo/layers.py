"""The layers of a small CNN in NumPy, forward and backward, enough to train one without a framework.

Feature maps are image x channel x row x column. ``forward`` keeps what ``backward`` needs; ``backward`` takes the
gradient of the loss by the layer's output, leaves that by its parameters in ``gradients``, and returns that by its input.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]


def windows(x: Array, kernel: int) -> Array:
    """The ``kernel`` x ``kernel`` neighbourhood of every pixel, zeros outside: two axes more than ``x``."""
    pad = kernel // 2
    padded = np.pad(x, ((0, 0), (0, 0), (pad, pad), (pad, pad)))
    return np.lib.stride_tricks.sliding_window_view(padded, (kernel, kernel), (2, 3))


class Layer(ABC):
    """Computes its output from its input, and the gradients."""

    def __init__(self, *parameters: Array) -> None:
        self.parameters = list(parameters)
        self.gradients = [np.zeros_like(parameter) for parameter in parameters]
        self._input: Array = np.empty(0)

    def forward(self, x: Array) -> Array:
        self._input = x
        return self._compute(x)

    @abstractmethod
    def _compute(self, x: Array) -> Array: ...

    @abstractmethod
    def backward(self, gradient: Array) -> Array: ...


class Conv(Layer):
    """Stride 1, output as large as the input."""

    def __init__(self, rng: np.random.Generator, channels: int, inputs: int, kernel: int) -> None:
        scale = np.sqrt(2 / (inputs * kernel**2))
        weight = rng.normal(0, scale, (channels, inputs, kernel, kernel)).astype(np.float32)
        super().__init__(weight, np.zeros(channels, np.float32))

    def _compute(self, x: Array) -> Array:
        weight, bias = self.parameters
        return _correlated(x, weight) + bias[:, None, None]

    def backward(self, gradient: Array) -> Array:
        weight, _ = self.parameters
        seen = windows(self._input, weight.shape[2])
        self.gradients = [np.tensordot(gradient, seen, ((0, 2, 3), (0, 2, 3))), gradient.sum((0, 2, 3))]
        return _correlated(gradient, weight.swapaxes(0, 1)[:, :, ::-1, ::-1])


class Depthwise(Layer):
    """A 3x3 kernel per channel, stride 1, output as large as the input."""

    def __init__(self, rng: np.random.Generator, channels: int) -> None:
        weight = rng.normal(0, np.sqrt(2 / 9), (channels, 1, 3, 3)).astype(np.float32)
        super().__init__(weight, np.zeros(channels, np.float32))

    def _compute(self, x: Array) -> Array:
        weight, bias = self.parameters
        return np.asarray(np.einsum("nchwij,cij->nchw", windows(x, 3), weight[:, 0])) + bias[:, None, None]

    def backward(self, gradient: Array) -> Array:
        weight = self.parameters[0][:, 0]
        by_weight = np.einsum("nchwij,nchw->cij", windows(self._input, 3), gradient)
        self.gradients = [by_weight[:, None], gradient.sum((0, 2, 3))]
        return np.asarray(np.einsum("nchwij,cij->nchw", windows(gradient, 3), weight[:, ::-1, ::-1]))


class Relu(Layer):
    def _compute(self, x: Array) -> Array:
        return np.maximum(x, 0)

    def backward(self, gradient: Array) -> Array:
        return np.where(self._input > 0, gradient, 0)


class MaxPool(Layer):
    """2x2, stride 2."""

    def _compute(self, x: Array) -> Array:
        return np.asarray(_quarters(x).max((3, 5)))

    def backward(self, gradient: Array) -> Array:
        blocks = _quarters(self._input)
        largest = blocks == blocks.max((3, 5), keepdims=True)
        shared = gradient[:, :, :, None, :, None] / largest.sum((3, 5), keepdims=True)
        return np.asarray(largest * shared).reshape(self._input.shape)


class Flatten(Layer):
    def _compute(self, x: Array) -> Array:
        return x.reshape(len(x), -1)

    def backward(self, gradient: Array) -> Array:
        return gradient.reshape(self._input.shape)


class Dense(Layer):
    def __init__(self, rng: np.random.Generator, features: int, inputs: int) -> None:
        weight = rng.normal(0, np.sqrt(1 / inputs), (features, inputs)).astype(np.float32)
        super().__init__(weight, np.zeros(features, np.float32))

    def _compute(self, x: Array) -> Array:
        weight, bias = self.parameters
        return x @ weight.T + bias

    def backward(self, gradient: Array) -> Array:
        self.gradients = [gradient.T @ self._input, gradient.sum(0)]
        return gradient @ self.parameters[0]


class Residual(Layer):
    """The sum of a chain of layers and its input."""

    def __init__(self, *layers: Layer) -> None:
        super().__init__()
        self._chain = Chain(*layers)
        self.parameters = self._chain.parameters

    def _compute(self, x: Array) -> Array:
        return x + self._chain.forward(x)

    def backward(self, gradient: Array) -> Array:
        through = gradient + self._chain.backward(gradient)
        self.gradients = self._chain.gradients
        return through


class Chain(Layer):
    """Layers one after the other; holds the parameters of all of them."""

    def __init__(self, *layers: Layer) -> None:
        super().__init__()
        self._layers = layers
        self.parameters = [parameter for layer in layers for parameter in layer.parameters]

    def _compute(self, x: Array) -> Array:
        for layer in self._layers:
            x = layer.forward(x)
        return x

    def backward(self, gradient: Array) -> Array:
        for layer in reversed(self._layers):
            gradient = layer.backward(gradient)
        self.gradients = [by for layer in self._layers for by in layer.gradients]
        return gradient


def _correlated(x: Array, weight: Array) -> Array:
    sums = np.tensordot(windows(x, weight.shape[2]), weight, ((1, 4, 5), (1, 2, 3)))
    return np.moveaxis(sums, 3, 1)


def _quarters(x: Array) -> Array:
    n, c, h, w = x.shape
    return x.reshape(n, c, h // 2, 2, w // 2, 2)
