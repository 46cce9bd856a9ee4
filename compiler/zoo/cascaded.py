"""EfficientViT-M0 (Liu et al., 2023), as timm exports it: heads work one after the other, each on its part of the channels."""

from __future__ import annotations

from onnx import ModelProto

from compiler.zoo.network import Value
from compiler.zoo.squeeze import GatedNetwork

WIDTHS, DEPTHS, HEADS = (64, 128, 192), (1, 2, 3), 4
KEYS, WINDOW, KERNEL = 16, 7, 5
"""The features of queries and keys, the side of a window, and the kernel over the queries."""


def cascaded(
    batch: int = 1, size: int = 224, seed: int = 0, classes: int = 1000, widths: tuple[int, ...] = WIDTHS,
    depths: tuple[int, ...] = DEPTHS, window: int = WINDOW,
) -> ModelProto:  # fmt: skip
    """Four convolutions, then stages of a depthwise convolution, two layers and attention, each with a residual."""
    net = GatedNetwork("efficientvit_m0", seed)
    x = net.image(batch, size)
    for share in (8, 4, 2, 1):
        x = net.conv(x, widths[0] // share, 3, 2)
        x = net.relu(x) if share > 1 else x
    for stage, (width, depth) in enumerate(zip(widths, depths, strict=True)):
        with net.scope(f"stage{stage}"):
            x = _merged(net, x, width) if stage else x
            for block in range(depth):
                with net.scope(f"block{block}"):
                    x = _mixed(net, net.add(x, _windowed(net, _mixed(net, x), window)))
    return net.model(logits=net.dense(net.global_average(x), classes))


def _mixed(net: GatedNetwork, x: Value) -> Value:
    x = net.add(x, net.depthwise(x))
    return net.add(x, net.conv(net.relu(net.conv(x, 2 * x.channels)), x.channels))


def _merged(net: GatedNetwork, x: Value, channels: int) -> Value:
    """A map with half the sides, made between layers as in each block."""
    y = net.relu(net.conv(_mixed(net, x), 4 * x.channels))
    y = net.gated(net.relu(net.depthwise(y, 3, 2)), x.channels, hard=False, between=net.relu)
    return _mixed(net, net.conv(y, channels))


def _windowed(net: GatedNetwork, x: Value, window: int) -> Value:
    """Attention in windows, which are a batch of maps if the map is larger than one."""
    n, c, h, w = x.shape
    if h <= window:
        return _attention(net, x)
    rows, columns = h // window, w // window
    cut = net.reshaped(net.transposed_to(x, 0, 2, 3, 1), n, rows, window, columns, window, c)
    windows = net.reshaped(net.transposed_to(cut, 0, 1, 3, 2, 4, 5), n * rows * columns, window, window, c)
    y = net.transposed_to(_attention(net, net.transposed_to(windows, 0, 3, 1, 2)), 0, 2, 3, 1)
    back = net.transposed_to(net.reshaped(y, n, rows, columns, window, window, c), 0, 1, 3, 2, 4, 5)
    return net.transposed_to(net.reshaped(back, n, h, w, c), 0, 3, 1, 2)


def _attention(net: GatedNetwork, x: Value) -> Value:
    """Attention with the features of a head as rows, and pixels as columns."""
    n, c, h, w = x.shape
    pixels, size = h * w, c // HEADS
    made: list[Value] = []
    for head, part in enumerate(net.split(x, 1, [size] * HEADS)):
        with net.scope(f"head{head}"):
            feature = net.add(made[-1], part) if made else part
            q, k, v = net.split(net.conv(feature, 2 * KEYS + size), 1, [KEYS, KEYS, size])
            q, k, v = (net.reshaped(y, n, y.channels, pixels) for y in (net.depthwise(q, KERNEL), k, v))
            scores = net.product(net.transposed_to(net.scaled(q, KEYS**-0.5), 0, 2, 1), k)
            shares = net.softmax(net.embedded(scores))
            mixed = net.product(v, net.transposed_to(shares, 0, 2, 1))
            made.append(net.reshaped(Value(mixed.name, mixed.shape, v.moments), n, size, h, w))
    return net.conv(net.relu(net.concat(made)), c)
