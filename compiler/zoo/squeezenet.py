"""SqueezeNet 1.1 (Iandola et al., 2016; the authors' smaller second version)."""

from __future__ import annotations

from onnx import ModelProto

from compiler.zoo.network import Network, Value

FIRES = ((16, 64), (16, 64), (32, 128), (32, 128), (48, 192), (48, 192), (64, 256), (64, 256))
"""The channels of the squeeze layer and of each of the two expand layers."""


def squeezenet(batch: int = 1, size: int = 224, seed: int = 0, classes: int = 1000) -> ModelProto:
    net = Network("squeezenet", seed)
    x = net.relu(net.conv(net.image(batch, size), 64, 3, 2, (0, 0, 0, 0)))
    for number, (squeezed, expanded) in enumerate(FIRES, start=2):
        if number in (2, 4, 6):
            x = net.max_pool(x, 3, ceil_mode=True)
        with net.scope(f"fire{number}"):
            x = _fire(net, x, squeezed, expanded)
    x = net.relu(net.conv(x, classes))
    return net.model(logits=net.flatten(net.global_average(x)))


def _fire(net: Network, x: Value, squeezed: int, expanded: int) -> Value:
    x = net.relu(net.conv(x, squeezed))
    return net.concat([net.relu(net.conv(x, expanded, kernel)) for kernel in (1, 3)])
