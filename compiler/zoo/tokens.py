"""Layers of transformers and their kin on tokens, as PyTorch exports them: nn.Linear as MatMul and Add, GELU spelt out."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from onnx import TensorProto, helper

from compiler.zoo import moments
from compiler.zoo.moments import Moments
from compiler.zoo.network import Network, Value


class TokenNetwork(Network):
    """A network of tokens: batch x tokens x features, or batch x rows x columns x features."""

    def linear(self, x: Value, features: int, gain: float = 1.0) -> Value:
        """A nn.Linear: on two dimensions a Gemm, else a product and the sum with its bias."""
        if len(x.shape) == 2:
            return self.dense(x, features)
        weight = moments.weights(self._rng, (features, x.shape[-1]), x.shape[-1], x.moments) * np.float32(gain)
        shape = (*x.shape[:-1], features)
        product = self._node("MatMul", [x], shape, Moments(), [self._constant("weight", np.ascontiguousarray(weight.T))])
        return self._between("Add", self._constant("bias", self._offsets(features)), product, shape, Moments(0.0, gain**2))

    def gelu(self, x: Value) -> Value:
        """GELU in its exact form, by the error function."""
        scaled = self.scaled(x, math.sqrt(2), "Div")
        erf = self._node("Erf", [scaled], x.shape, Moments(0.0, 0.5))
        lifted = self._node("Add", [erf], x.shape, Moments(1.0, 0.5), [self._constant("one", np.array(1, np.float32))])
        product = self.times(x, lifted)
        return self.scaled(Value(product.name, x.shape, Moments(0.56, 1.5)), 0.5, "Mul")

    def scaled(self, x: Value, number: float, kind: str = "Mul") -> Value:
        factor = number if kind == "Mul" else 1 / number
        result = Moments(x.moments.mean * factor, x.moments.variance * factor**2)
        return self._node(kind, [x], x.shape, result, [self._constant("number", np.array(number, np.float32))])

    def layer_scale(self, x: Value, shape: Sequence[int]) -> Value:
        """The product with a learnt factor for each feature; ``shape`` is that of the factors as they are broadcast."""
        factors = self._rng.uniform(0.5, 1.0, shape).astype(np.float32)
        return self._between("Mul", self._constant("scale", factors), x, x.shape, Moments(0.0, 0.6 * x.moments.variance))

    def embedded(self, x: Value) -> Value:
        """The sum with a learnt number for each element."""
        table = self._rng.standard_normal((1, *x.shape[1:]), dtype=np.float32) * np.float32(0.1)
        return self._node("Add", [x], x.shape, x.moments, [self._constant("position", table)])

    def behind_a_token(self, x: Value) -> Value:
        """The tokens behind a learnt token."""
        n, tokens, features = x.shape
        learnt = self._constant("token", self._rng.standard_normal((n, 1, features), dtype=np.float32))
        return self._node("Concat", [Value(learnt, (n, 1, features)), x], (n, tokens + 1, features), x.moments, axis=1)

    def layer_norm(self, x: Value) -> Value:
        size = x.shape[-1]
        scale = self._rng.uniform(0.8, 1.25, size).astype(np.float32)
        parameters = [self._constant("scale", scale), self._constant("offset", self._offsets(size))]
        return self._node("LayerNormalization", [x], x.shape, Moments(), parameters, axis=-1, epsilon=1e-6)

    def times(self, a: Value, b: Value) -> Value:
        variance = a.moments.power * b.moments.power
        return self._node("Mul", [a, b], a.shape, Moments(0.0, variance))

    def reshaped(self, x: Value, *shape: int) -> Value:
        return self._node("Reshape", [x], shape, x.moments, [self._constant("shape", np.array(shape, np.int64))])

    def transposed_to(self, x: Value, *order: int) -> Value:
        return self._node("Transpose", [x], tuple(x.shape[i] for i in order), x.moments, perm=order)

    def part(self, x: Value, axis: int, first: int, end: int) -> Value:
        bounds = [self._constant(name, np.array([value], np.int64)) for name, value in (("start", first), ("end", end))]
        axes = self._constant("axes", np.array([axis], np.int64))
        shape = (*x.shape[:axis], end - first, *x.shape[axis + 1 :])
        return self._node("Slice", [x], shape, x.moments, [*bounds, axes])

    def split(self, x: Value, axis: int, sizes: Sequence[int]) -> list[Value]:
        shapes = [(*x.shape[:axis], size, *x.shape[axis + 1 :]) for size in sizes]
        given = self._constant("sizes", np.array(sizes, np.int64))
        parts = [self._node("Split", [x], shapes[0], x.moments, [given], axis=axis)]
        for number, shape in enumerate(shapes[1:], start=1):
            parts.append(Value(f"{parts[0].name}/{number}", shape, x.moments))
            self._graph.node[-1].output.append(parts[-1].name)
            self._graph.value_info.append(helper.make_tensor_value_info(parts[-1].name, TensorProto.FLOAT, shape))
        return parts

    def joined_along(self, parts: Sequence[Value], axis: int) -> Value:
        first = parts[0].shape
        shape = (*first[:axis], sum(part.shape[axis] for part in parts), *first[axis + 1 :])
        return self._node("Concat", parts, shape, parts[0].moments, axis=axis)

    def every(self, x: Value, axes: Sequence[int], step: int) -> Value:
        """Every ``step``-th element along some axes, from the first one on: slices one after another."""
        for axis in axes:
            names = ("start", 0), ("end", x.shape[axis]), ("axis", axis), ("step", step)
            bounds = [self._constant(name, np.array([value], np.int64)) for name, value in names]
            shape = (*x.shape[:axis], -(-x.shape[axis] // step), *x.shape[axis + 1 :])
            x = self._node("Slice", [x], shape, x.moments, bounds)
        return x

    def padded(self, x: Value, axis: int, before: int, after: int, number: float = 0.0) -> Value:
        pads = np.zeros((2, len(x.shape)), np.int64)
        pads[:, axis] = before, after
        parameters = [self._constant("pads", pads.reshape(-1)), self._constant("number", np.array(number, np.float32))]
        shape = (*x.shape[:axis], x.shape[axis] + before + after, *x.shape[axis + 1 :])
        return self._node("Pad", [x], shape, x.moments, parameters, mode="constant")

    def quotient(self, x: Value, sums: Value, least: float = 1e-5) -> Value:
        """The quotient of ``x`` and ``sums``, which are broadcast and a little increased."""
        above = self._node("Add", [sums], sums.shape, sums.moments, [self._constant("least", np.array(least, np.float32))])
        return self._node("Div", [x, above], x.shape, Moments(0.0, x.moments.power / above.moments.power))

    def conv1d(self, x: Value, channels: int, kernel: int = 1, groups: int = 1) -> Value:
        """A convolution over tokens, which come last; its kernel is odd."""
        n, inputs, tokens = x.shape
        shape = (channels, inputs // groups, kernel)
        weight = moments.weights(self._rng, shape, math.prod(shape[1:]), x.moments)
        parameters = [self._constant("weight", weight), self._constant("bias", self._offsets(channels))]
        pads = [kernel // 2] * 2
        attributes = {"kernel_shape": [kernel], "strides": [1], "pads": pads, "group": groups}
        return self._node("Conv", [x], (n, channels, tokens), Moments(), parameters, **attributes)

    def mean(self, x: Value, axes: Sequence[int], keepdims: int = 0) -> Value:
        shape = tuple(1 if i in axes else s for i, s in enumerate(x.shape) if keepdims or i not in axes)
        count = math.prod(x.shape[i] for i in axes)
        return self._node("ReduceMean", [x], shape, x.moments.average(count), axes=list(axes), keepdims=keepdims)

    def attention(
        self, x: Value, heads: int, width: int, bias: bool = False, mask: NDArray[np.float32] | None = None
    ) -> Value:
        """Self-attention over the tokens of ``x`` (batch x tokens x features), with ``width`` features in all heads.

        ``mask`` is windows x tokens x tokens, added to the scores of all heads in a window.
        """
        n, tokens, _ = x.shape
        size = width // heads
        split = self.transposed_to(self.reshaped(self.linear(x, 3 * width), n, tokens, 3, heads, size), 2, 0, 3, 1, 4)
        q, k, v = (self.reshaped(self.part(split, 0, i, i + 1), n, heads, tokens, size) for i in range(3))
        product = self.product(self.scaled(q, size**-0.5), self.transposed_to(k, 0, 1, 3, 2))
        if bias:
            product = self.embedded(product)
        if mask is not None:
            windows = len(mask)
            apart = self.reshaped(product, n // windows, windows, heads, tokens, tokens)
            added = self._constant("mask", mask.reshape(1, windows, 1, tokens, tokens))
            product = self.reshaped(self._node("Add", [apart], apart.shape, apart.moments, [added]), *product.shape)
        mixed = self.transposed_to(self.product(self.softmax(product), v), 0, 2, 1, 3)
        return self.linear(self.reshaped(Value(mixed.name, mixed.shape, Moments(0.0, 3 / tokens)), n, tokens, width), width)

    def softmax(self, x: Value, axis: int = -1) -> Value:
        share = 1 / x.shape[axis]
        return self._node("Softmax", [x], x.shape, Moments(share, share**2), axis=axis)

    def perceptron(self, x: Value, hidden: int) -> Value:
        """Two dense layers with GELU between them."""
        return self.linear(self.gelu(self.linear(x, hidden)), x.shape[-1], 0.5)

    def product(self, a: Value, b: Value) -> Value:
        """The product of two activations in heads."""
        shape = (*a.shape[:-1], b.shape[-1])
        return self._node("MatMul", [a, b], shape, Moments(0.0, a.shape[-1] * a.moments.power * b.moments.power))

    def _between(self, kind: str, constant: str, x: Value, shape: tuple[int, ...], result: Moments) -> Value:
        """A node whose first operand is the constant, as exporters write ``bias + x``."""
        return self._node(kind, [Value(constant, ()), x], shape, result)
