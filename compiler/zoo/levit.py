"""LeViT-128S (Graham et al., 2021), as timm exports it: attention with few keys and hard swish; its batch norms are folded."""

from __future__ import annotations

from onnx import ModelProto

from compiler.zoo.network import Value
from compiler.zoo.squeeze import GatedNetwork

WIDTHS, HEADS, DEPTHS = (128, 256, 384), (4, 6, 8), (2, 3, 4)
KEYS, RATIO, HALVING = 16, 2, 4
"""The features of a key, and the ratio of a value's features to them: usually, and where the map is halved."""


def levit(
    batch: int = 1, size: int = 224, seed: int = 0, classes: int = 1000, widths: tuple[int, ...] = WIDTHS,
    heads: tuple[int, ...] = HEADS, depths: tuple[int, ...] = DEPTHS,
) -> ModelProto:  # fmt: skip
    net = GatedNetwork("levit", seed)
    x = net.image(batch, size)
    for share in (8, 4, 2, 1):
        x = net.conv(x, widths[0] // share, 3, 2)
        x = net.hard_swish(x) if share > 1 else x
    side = x.size[0]
    tokens = net.transposed_to(net.reshaped(x, batch, widths[0], side * side), 0, 2, 1)
    for stage, (width, count, depth) in enumerate(zip(widths, heads, depths, strict=True)):
        if stage:
            with net.scope(f"halving{stage}"):
                tokens, side = _halved(net, tokens, side, width)
                tokens = net.add(tokens, _perceptron(net, tokens))
        for block in range(depth):
            with net.scope(f"stage{stage}.{block}"):
                tokens = net.add(tokens, _attention(net, tokens, tokens, count, RATIO, width))
                tokens = net.add(tokens, _perceptron(net, tokens))
    return net.model(logits=net.dense(net.mean(tokens, [1]), classes))


def _perceptron(net: GatedNetwork, x: Value) -> Value:
    return net.linear(net.hard_swish(net.linear(x, 2 * x.shape[-1])), x.shape[-1], 0.5)


def _halved(net: GatedNetwork, x: Value, side: int, width: int) -> tuple[Value, int]:
    """Attention that halves the map: the queries come from every second row and column."""
    n, _, features = x.shape
    half = -(-side // 2)
    asked = net.reshaped(net.every(net.reshaped(x, n, side, side, features), (1, 2), 2), n, half * half, features)
    return _attention(net, x, asked, features // KEYS, HALVING, width), half


def _attention(net: GatedNetwork, x: Value, asked: Value, heads: int, ratio: int, width: int) -> Value:
    """Attention of the tokens ``asked`` to those of ``x``. If both are the same, all parts come from one layer."""
    n, tokens, _ = x.shape
    count, values = asked.shape[1], ratio * KEYS
    sizes = ([KEYS] if asked is x else []) + [KEYS, values]
    parts = net.split(net.reshaped(net.linear(x, heads * sum(sizes)), n, tokens, heads, sum(sizes)), 3, sizes)
    k, v = net.transposed_to(parts[-2], 0, 2, 3, 1), net.transposed_to(parts[-1], 0, 2, 1, 3)
    q = parts[0] if asked is x else net.reshaped(net.linear(asked, heads * KEYS), n, count, heads, KEYS)
    scores = net.embedded(net.scaled(net.product(net.transposed_to(q, 0, 2, 1, 3), k), KEYS**-0.5))
    mixed = net.transposed_to(net.product(net.softmax(scores), v), 0, 2, 1, 3)
    return net.linear(net.hard_swish(net.reshaped(mixed, n, count, heads * values)), width)
