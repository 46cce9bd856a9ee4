"""MobileViT-S (Mehta and Rastegari, 2022), as timm exports it: attention among pixels at the same place of 2 x 2 blocks."""

from __future__ import annotations

from onnx import ModelProto

from compiler.zoo.network import Value
from compiler.zoo.squeeze import GatedNetwork

STAGES = ((32, 1, 1, 0, 0), (64, 3, 2, 0, 0), (96, 1, 2, 144, 2), (128, 1, 2, 192, 4), (160, 1, 2, 240, 3))
"""The channels, blocks of convolutions, stride of the first, features of a token, and blocks of attention of each stage."""
PATCH = 2
HEADS = 4


def mobilevit(
    batch: int = 1, size: int = 256, seed: int = 0, classes: int = 1000,
    stages: tuple[tuple[int, int, int, int, int], ...] = STAGES, stem: int = 16, last: int = 640,
) -> ModelProto:  # fmt: skip
    net = GatedNetwork("mobilevit", seed)
    x = net.silu(net.conv(net.image(batch, size), stem, 3, 2))
    for stage, (channels, blocks, first, width, depth) in enumerate(stages):
        with net.scope(f"stage{stage}"):
            for block in range(blocks):
                x = _inverted(net, x, channels, first if block == 0 else 1)
            if depth:
                x = _with_tokens(net, x, width, depth)
    x = net.global_average(net.silu(net.conv(x, last)))
    return net.model(logits=net.dense(x, classes))


def _inverted(net: GatedNetwork, x: Value, channels: int, stride: int) -> Value:
    y = net.silu(net.depthwise(net.silu(net.conv(x, 4 * x.channels)), 3, stride))
    y = net.conv(y, channels)
    return net.add(y, x) if stride == 1 and channels == x.channels else y


def _with_tokens(net: GatedNetwork, x: Value, width: int, depth: int) -> Value:
    """A block of attention. Tokens of the four places in a block of pixels are a batch of four sequences.

    The result is joined with the map.
    """
    n, channels, rows, columns = x.shape
    y = net.conv(net.silu(net.conv(x, channels, 3)), width)
    blocks, area = rows // PATCH * (columns // PATCH), PATCH * PATCH
    cut = net.reshaped(y, n * width * (rows // PATCH), PATCH, columns // PATCH, PATCH)
    cut = net.reshaped(net.transposed_to(cut, 0, 2, 1, 3), n, width, blocks, area)
    tokens = net.reshaped(net.transposed_to(cut, 0, 3, 2, 1), n * area, blocks, width)
    for block in range(depth):
        with net.scope(f"block{block}"):
            tokens = net.add(tokens, net.attention(net.layer_norm(tokens), HEADS, width))
            hidden = net.silu(net.linear(net.layer_norm(tokens), 2 * width))
            tokens = net.add(tokens, net.linear(hidden, width, 0.5))
    back = net.transposed_to(net.reshaped(net.layer_norm(tokens), n, area, blocks, width), 0, 3, 2, 1)
    back = net.reshaped(back, n * width * (rows // PATCH), columns // PATCH, PATCH, PATCH)
    back = net.reshaped(net.transposed_to(back, 0, 2, 1, 3), n, width, rows, columns)
    y = net.silu(net.conv(back, channels))
    return net.silu(net.conv(net.concat([x, y]), channels, 3))
