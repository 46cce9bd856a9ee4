"""A small DeepLabV3+ (Chen et al., 2018): ResNet-18 dilated at 1/16, atrous spatial pyramid, decoder at 1/4."""

from __future__ import annotations

from onnx import ModelProto

from compiler.zoo.network import Network, Value
from compiler.zoo.resnet import basic_block

RATES = (6, 12, 18)
"""The dilations of the pyramid, the paper's for 1/16 of the size."""


def deeplab(batch: int = 1, size: int = 256, seed: int = 0, classes: int = 21, width: int = 64) -> ModelProto:
    """DeepLabV3+; ``size`` is a multiple of 16. ResNet-18's first stage has ``width`` channels, the pyramid twice as many."""
    net = Network("deeplab", seed)
    x = net.relu(net.conv(net.image(batch, size), width, 7, 2))
    x = low = _stage(net, net.max_pool(x, 3, 2, "centred"), 1, width)
    x = _stage(net, x, 2, 2 * width, stride=2)
    x = _stage(net, x, 3, 4 * width, stride=2)
    x = _stage(net, x, 4, 8 * width, dilation=2)
    with net.scope("pyramid"):
        x = _pyramid(net, x, 2 * width)
    with net.scope("decoder"):
        x = net.concat([net.upsample(x, 4, "linear"), net.relu(net.conv(low, 48))])
        x = net.relu(net.conv(x, 2 * width, 3))
        return net.model(mask=net.upsample(net.conv(x, classes), 4, "linear"))


def _stage(net: Network, x: Value, stage: int, channels: int, stride: int = 1, dilation: int = 1) -> Value:
    for block in range(2):
        with net.scope(f"stage{stage}.{block}"):
            x = basic_block(net, x, channels, stride if block == 0 else 1, dilation)
    return x


def _pyramid(net: Network, x: Value, channels: int) -> Value:
    """A 1x1, three dilated 3x3 and the global average, side by side; then a 1x1 over all of them."""
    branches = [net.relu(net.conv(x, channels))]
    branches += [net.relu(net.conv(x, channels, 3, dilation=rate)) for rate in RATES]
    branches.append(net.resize(net.relu(net.conv(net.global_average(x), channels)), x.size))
    return net.relu(net.conv(net.concat(branches), channels))
