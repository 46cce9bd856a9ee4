"""Encoders of text as transformers exports them: BERT-tiny (Turc et al., 2019), MobileBERT (Sun et al., 2020).

Words are looked up in tables. A mask of the words that are present comes from outside, and is added to scores.
"""

from __future__ import annotations

import math

import numpy as np
from onnx import ModelProto, TensorProto, helper

from compiler.zoo.moments import Moments
from compiler.zoo.network import Value
from compiler.zoo.tokens import TokenNetwork

FAR = float(np.finfo(np.float32).min)
"""The number that is added to the scores of a word that is absent."""


class TextNetwork(TokenNetwork):
    """A network whose inputs are the numbers of words, and whether each word is present."""

    def words(self, batch: int, size: int) -> tuple[Value, Value]:
        """The numbers of words, and the mask as it is added to scores."""
        names = ("input_ids", "attention_mask")
        for name in names:
            self._graph.input.append(helper.make_tensor_value_info(name, TensorProto.INT64, (batch, size)))
        ids, there = (Value(name, (batch, size)) for name in names)
        shape = (batch, 1, 1, size)
        axes = self._constant("axes", np.array([1, 2], np.int64))
        wide = self._integers("Unsqueeze", [there], shape, [axes])
        real = self._node("Cast", [wide], shape, Moments(), to=TensorProto.FLOAT)
        absent = self._between("Sub", self._constant("one", np.array(1, np.float32)), real, shape, Moments())
        return ids, self._node("Mul", [absent], shape, Moments(), [self._constant("far", np.array(FAR, np.float32))])

    def looked_up(self, ids: Value, words: int, features: int) -> Value:
        table = self._rng.standard_normal((words, features), dtype=np.float32)
        return self._between("Gather", self._constant("table", table), ids, (*ids.shape, features), Moments())

    def scores_and_values(self, parts: tuple[Value, Value, Value], heads: int, mask: Value) -> Value:
        """Attention with given queries, keys and values, each of a layer of its own."""
        n, tokens, width = parts[2].shape
        size = width // heads
        q, k, v = (self._heads(x, heads, order) for x, order in zip(parts, ORDERS, strict=True))
        scores = self.scaled(self.product(q, k), math.sqrt(size), "Div")
        masked = self._node("Add", [scores, mask], scores.shape, scores.moments)
        mixed = self.transposed_to(self.product(self.softmax(masked), v), 0, 2, 1, 3)
        return self.reshaped(Value(mixed.name, mixed.shape, Moments()), n, tokens, width)

    def affine(self, x: Value) -> Value:
        """A factor and an offset for each feature, in place of a normalisation."""
        factors = self._rng.uniform(0.8, 1.25, x.shape[-1]).astype(np.float32) / np.float32(math.sqrt(x.moments.power))
        scaled = self._node("Mul", [x], x.shape, Moments(), [self._constant("scale", factors)])
        return self._node("Add", [scaled], x.shape, Moments(), [self._constant("offset", self._offsets(x.shape[-1]))])

    def _heads(self, x: Value, heads: int, order: tuple[int, ...]) -> Value:
        n, tokens, width = x.shape
        return self.transposed_to(self.reshaped(x, n, tokens, heads, width // heads), *order)

    def _integers(self, kind: str, inputs: list[Value], shape: tuple[int, ...], parameters: list[str]) -> Value:
        made = self._node(kind, inputs, shape, Moments(), parameters)
        self._graph.value_info[-1].type.tensor_type.elem_type = TensorProto.INT64
        return made


ORDERS = ((0, 2, 1, 3), (0, 2, 3, 1), (0, 2, 1, 3))
"""The order of the dimensions of queries, keys and values."""


def bert(
    batch: int = 1, size: int = 128, seed: int = 0, classes: int = 2, width: int = 128, depth: int = 2, heads: int = 2,
    words: int = 30522,
) -> ModelProto:  # fmt: skip
    """BERT for sentences of ``size`` words; the first word is classified."""
    net = TextNetwork("bert", seed)
    ids, mask = net.words(batch, size)
    x = net.layer_norm(net.embedded(net.looked_up(ids, words, width)))
    for layer in range(depth):
        with net.scope(f"layer{layer}"):
            q, k, v = (net.linear(x, width) for _ in range(3))
            x = net.layer_norm(net.add(net.linear(net.scores_and_values((q, k, v), heads, mask), width), x))
            x = net.layer_norm(net.add(net.perceptron(x, 4 * width), x))
    return net.model(logits=net.dense(net.reshaped(net.part(x, 1, 0, 1), batch, width), classes))


def mobilebert(
    batch: int = 1, size: int = 128, seed: int = 0, classes: int = 2, width: int = 512, inner: int = 128, depth: int = 24,
    heads: int = 4, words: int = 30522, feeds: int = 4,
) -> ModelProto:  # fmt: skip
    """MobileBERT: narrow layers between wide ones, ReLU, and factors for normalisations. Three neighbours make a word."""
    net = TextNetwork("mobilebert", seed)
    ids, mask = net.words(batch, size)
    word = net.looked_up(ids, words, inner)
    after, before = net.padded(net.part(word, 1, 1, size), 1, 0, 1), net.padded(net.part(word, 1, 0, size - 1), 1, 1, 0)
    x = net.affine(net.embedded(net.linear(net.joined_along([after, word, before], 2), width)))
    for layer in range(depth):
        with net.scope(f"layer{layer}"):
            narrow = net.affine(net.linear(x, inner))
            shared = net.affine(net.linear(x, inner))
            parts = (net.linear(shared, inner), net.linear(shared, inner), net.linear(x, inner))
            y = net.affine(net.add(net.linear(net.scores_and_values(parts, heads, mask), inner), narrow))
            for _ in range(feeds):
                y = net.affine(net.add(net.linear(net.relu(net.linear(y, 4 * inner)), inner), y))
            x = net.affine(net.add(net.linear(y, width), x))
    return net.model(logits=net.dense(net.reshaped(net.part(x, 1, 0, 1), batch, width), classes))
