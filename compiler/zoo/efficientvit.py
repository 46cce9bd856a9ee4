"""EfficientViT-B0 (Cai et al., 2023), as timm exports it: attention without softmax, in time linear in the pixels."""

from __future__ import annotations

from onnx import ModelProto

from compiler.zoo.network import Value
from compiler.zoo.squeeze import GatedNetwork

WIDTHS, DEPTHS, SIZE = (8, 16, 32, 64, 128), (1, 2, 2, 2, 2), 16
"""The widths and depths of the stem and the stages, and the features of a head."""


def efficientvit(
    batch: int = 1, size: int = 224, seed: int = 0, classes: int = 1000, widths: tuple[int, ...] = WIDTHS,
    depths: tuple[int, ...] = DEPTHS,
) -> ModelProto:  # fmt: skip
    """EfficientViT-B0. The last two stages have attention, each before an inverted bottleneck."""
    net = GatedNetwork("efficientvit", seed)
    x = net.hard_swish(net.conv(net.image(batch, size), widths[0], 3, 2))
    for _ in range(depths[0]):
        x = net.add(net.conv(net.hard_swish(net.depthwise(x)), x.channels), x)
    for stage, (width, depth) in enumerate(zip(widths[1:], depths[1:], strict=True), start=1):
        with net.scope(f"stage{stage}"):
            x = _bottleneck(net, x, width, 2)
            for block in range(depth if stage > 2 else depth - 1):
                with net.scope(f"block{block}"):
                    x = net.add(_attention(net, x), x) if stage > 2 else x
                    x = net.add(_bottleneck(net, x, width, 1), x)
    x = net.global_average(net.hard_swish(net.conv(x, 8 * widths[-1])))
    return net.model(logits=net.dense(net.hard_swish(net.dense(x, 10 * widths[-1])), classes))


def _bottleneck(net: GatedNetwork, x: Value, channels: int, stride: int) -> Value:
    y = net.hard_swish(net.depthwise(net.hard_swish(net.conv(x, 4 * x.channels)), 3, stride))
    return net.conv(y, channels)


def _attention(net: GatedNetwork, x: Value) -> Value:
    """Attention in heads, of the results of one convolution, and of sums over their 5 x 5 neighbours.

    A column of ones beside the values makes the sums of a row's weights, by which the row is divided.
    """
    n, channels, rows, columns = x.shape
    pixels = rows * columns
    made = net.conv(x, 3 * channels)
    wide = net.conv(net.depthwise(made, 5), 3 * channels, groups=3 * channels // SIZE)
    both = net.concat([made, wide])
    heads = both.channels // (3 * SIZE)
    tokens = net.transposed_to(net.reshaped(both, n, heads, 3 * SIZE, pixels), 0, 1, 3, 2)
    q, k, v = (net.part(tokens, 3, i * SIZE, (i + 1) * SIZE) for i in range(3))
    mixed = net.product(net.relu(q), net.product(net.transposed_to(net.relu(k), 0, 1, 3, 2), net.padded(v, 3, 0, 1, 1.0)))
    shares = net.quotient(net.part(mixed, 3, 0, SIZE), net.part(mixed, 3, SIZE, SIZE + 1))
    joined = net.reshaped(net.transposed_to(shares, 0, 1, 3, 2), n, heads * SIZE, rows, columns)
    return net.conv(joined, channels)
