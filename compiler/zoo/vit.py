"""Vision transformers and the MLP mixer (Dosovitskiy et al., 2021; Tolstikhin et al., 2021)."""

from __future__ import annotations

from onnx import ModelProto

from compiler.zoo.network import Value
from compiler.zoo.tokens import TokenNetwork


def vit(
    batch: int = 1, size: int = 224, seed: int = 0, classes: int = 1000, patch: int = 16, width: int = 192, depth: int = 12,
    heads: int = 3, token: bool = False,
) -> ModelProto:  # fmt: skip
    """A vision transformer: patches are tokens, positions are added, and the mean of all tokens is classified.

    With ``token`` a learnt token comes before the others and is classified instead, as in DeiT.
    """
    net = TokenNetwork("deit" if token else "vit", seed)
    x = _patches(net, batch, size, patch, width)
    x = net.embedded(net.behind_a_token(x) if token else x)
    for block in range(depth):
        with net.scope(f"block{block}"):
            x = net.add(x, net.attention(net.layer_norm(x), heads, width))
            x = net.add(x, net.perceptron(net.layer_norm(x), 4 * width))
    x = net.layer_norm(x)
    last = net.reshaped(net.part(x, 1, 0, 1), batch, width) if token else net.mean(x, [1])
    return net.model(logits=net.dense(last, classes))


def mixer(
    batch: int = 1, size: int = 224, seed: int = 0, classes: int = 1000, patch: int = 16, width: int = 512, depth: int = 8
) -> ModelProto:
    """The mixer: dense layers over tokens and over features in turn."""
    net = TokenNetwork("mixer", seed)
    x = _patches(net, batch, size, patch, width)
    for block in range(depth):
        with net.scope(f"block{block}"):
            mixed = net.perceptron(net.transposed_to(net.layer_norm(x), 0, 2, 1), width // 2)
            x = net.add(x, net.transposed_to(mixed, 0, 2, 1))
            x = net.add(x, net.perceptron(net.layer_norm(x), 4 * width))
    return net.model(logits=net.dense(net.mean(net.layer_norm(x), [1]), classes))


def _patches(net: TokenNetwork, batch: int, size: int, patch: int, width: int) -> Value:
    """The patches of images as batch x tokens x features."""
    x = net.conv(net.image(batch, size), width, patch, patch, (0, 0, 0, 0))
    tokens = x.size[0] * x.size[1]
    return net.transposed_to(net.reshaped(x, batch, width, tokens), 0, 2, 1)
