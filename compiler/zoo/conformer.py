"""The encoder of Conformer-S (Gulati et al., 2020) with absolute positions: spectra in, a sequence of features out."""

from __future__ import annotations

from onnx import ModelProto

from compiler.zoo.network import Value
from compiler.zoo.squeeze import GatedNetwork

KERNEL = 31


def conformer(
    batch: int = 1, size: int = 800, seed: int = 0, classes: int = 256, bands: int = 80, width: int = 144, depth: int = 16,
    heads: int = 4,
) -> ModelProto:  # fmt: skip
    """Conformer for ``size`` frames; four frames become a token."""
    net = GatedNetwork("conformer", seed)
    x = net.image(batch, (size, bands), 1, "spectra")
    for _ in range(2):
        x = net.relu(net.conv(x, width, 3, 2))
    n, _, tokens, left = x.shape
    x = net.linear(net.reshaped(net.transposed_to(x, 0, 2, 1, 3), n, tokens, width * left), width)
    x = net.embedded(x)
    for block in range(depth):
        with net.scope(f"block{block}"):
            x = net.add(x, net.scaled(_feed(net, x), 0.5))
            x = net.add(x, net.attention(net.layer_norm(x), heads, width))
            x = net.add(x, _convolved(net, x))
            x = net.layer_norm(net.add(x, net.scaled(_feed(net, x), 0.5)))
    return net.model(logits=net.linear(x, classes))


def _feed(net: GatedNetwork, x: Value) -> Value:
    return net.linear(net.silu(net.linear(net.layer_norm(x), 4 * x.shape[-1])), x.shape[-1], 0.5)


def _convolved(net: GatedNetwork, x: Value) -> Value:
    """A depthwise convolution over tokens between two layers of one tap, the first of which is gated."""
    y = net.transposed_to(net.layer_norm(x), 0, 2, 1)
    value, gate = net.split(net.conv1d(y, 2 * y.channels), 1, [y.channels] * 2)
    y = net.silu(net.conv1d(net.times(value, net.sigmoid(gate)), y.channels, KERNEL, groups=y.channels))
    return net.transposed_to(net.conv1d(y, y.channels), 0, 2, 1)
