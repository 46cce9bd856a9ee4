"""GhostNet (Han et al., 2020): a depthwise convolution makes half of each layer's channels from the other half."""

from __future__ import annotations

from onnx import ModelProto

from compiler.zoo.network import Value
from compiler.zoo.squeeze import GatedNetwork

BLOCKS = (
    (3, 16, 16, False, 1), (3, 48, 24, False, 2), (3, 72, 24, False, 1), (5, 72, 40, True, 2), (5, 120, 40, True, 1),
    (3, 240, 80, False, 2), (3, 200, 80, False, 1), (3, 184, 80, False, 1), (3, 184, 80, False, 1), (3, 480, 112, True, 1),
    (3, 672, 112, True, 1), (5, 672, 160, True, 2), (5, 960, 160, False, 1), (5, 960, 160, True, 1), (5, 960, 160, False, 1),
    (5, 960, 160, True, 1),
)  # fmt: skip
"""The kernel, expanded channels, channels, gate and stride of each block."""


def ghostnet(batch: int = 1, size: int = 224, seed: int = 0, classes: int = 1000) -> ModelProto:
    net = GatedNetwork("ghostnet", seed)
    x = net.relu(net.conv(net.image(batch, size), 16, 3, 2))
    for number, (kernel, expanded, channels, gate, stride) in enumerate(BLOCKS):
        with net.scope(f"block{number}"):
            x = _block(net, x, kernel, expanded, channels, gate, stride)
    x = net.global_average(net.relu(net.conv(x, 960)))
    return net.model(logits=net.dense(net.relu(net.conv(x, 1280)), classes))


def _ghost(net: GatedNetwork, x: Value, channels: int, *, active: bool) -> Value:
    """A ghost layer. An odd channel too many is cut off; exporters write this cut for every layer."""
    half = net.conv(x, -(-channels // 2))
    half = net.relu(half) if active else half
    cheap = net.depthwise(half, 3)
    return net.part(net.concat([half, net.relu(cheap) if active else cheap]), 1, 0, channels)


def _block(net: GatedNetwork, x: Value, kernel: int, expanded: int, channels: int, gate: bool, stride: int) -> Value:
    y = _ghost(net, x, expanded, active=True)
    y = net.depthwise(y, kernel, 2) if stride == 2 else y
    y = net.gated(y, -(-expanded // 4 // 4) * 4, hard=True) if gate else y
    y = _ghost(net, y, channels, active=False)
    if stride == 1 and channels == x.channels:
        return net.add(y, x)
    return net.add(y, net.conv(net.depthwise(x, kernel, stride), channels))
