"""GoogLeNet (Szegedy et al., 2014), with its 5x5; without local response normalisation and auxiliary classifiers."""

from __future__ import annotations

from onnx import ModelProto

from compiler.zoo.network import Network, Value

INCEPTIONS = {
    "3a": (64, 96, 128, 16, 32, 32),
    "3b": (128, 128, 192, 32, 96, 64),
    "4a": (192, 96, 208, 16, 48, 64),
    "4b": (160, 112, 224, 24, 64, 64),
    "4c": (128, 128, 256, 24, 64, 64),
    "4d": (112, 144, 288, 32, 64, 64),
    "4e": (256, 160, 320, 32, 128, 128),
    "5a": (256, 160, 320, 32, 128, 128),
    "5b": (384, 192, 384, 48, 128, 128),
}
"""The channels of 1x1, 3x3's reduction and 3x3, 5x5's reduction and 5x5, pool's projection: table 1 of the paper."""


def googlenet(batch: int = 1, size: int = 224, seed: int = 0, classes: int = 1000) -> ModelProto:
    net = Network("googlenet", seed)
    x = net.relu(net.conv(net.image(batch, size), 64, 7, 2))
    x = net.max_pool(x, 3, ceil_mode=True)
    x = net.relu(net.conv(x, 64))
    x = net.relu(net.conv(x, 192, 3))
    for name, channels in INCEPTIONS.items():
        if name in ("3a", "4a", "5a"):
            x = net.max_pool(x, 3, ceil_mode=True)
        with net.scope(f"inception{name}"):
            x = _inception(net, x, *channels)
    return net.model(logits=net.dense(net.global_average(x), classes))


def _inception(net: Network, x: Value, one: int, reduce3: int, three: int, reduce5: int, five: int, pool: int) -> Value:
    branches = [
        net.conv(x, one),
        net.conv(net.relu(net.conv(x, reduce3)), three, 3),
        net.conv(net.relu(net.conv(x, reduce5)), five, 5),
        net.conv(net.max_pool(x, 3, 1, "centred"), pool),
    ]
    return net.concat([net.relu(branch) for branch in branches])
