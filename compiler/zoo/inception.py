"""Inception-v3 (Szegedy et al., 2015) as torchvision has it: without auxiliary classifier, pools that count their padding."""

from __future__ import annotations

from onnx import ModelProto

from compiler.zoo.geometry import Kernel, Padding
from compiler.zoo.network import Network, Value

VALID: Padding = (0, 0, 0, 0)
POOLED = (32, 64, 64)
"""The channels of the pools' convolutions in the three blocks with a 5x5."""
SEVENS = (128, 160, 160, 192)
"""The channels within the four blocks with kernels of seven taps."""


def inception_v3(batch: int = 1, size: int = 299, seed: int = 0, classes: int = 1000) -> ModelProto:
    net = Network("inception_v3", seed)
    x = _conv(net, net.image(batch, size), 32, 3, 2, VALID)
    x = net.max_pool(_conv(net, _conv(net, x, 32, 3, 1, VALID), 64, 3), 3, 2)
    x = net.max_pool(_conv(net, _conv(net, x, 80), 192, 3, 1, VALID), 3, 2)
    for number, channels in enumerate(POOLED):
        with net.scope(f"fives{number}"):
            x = _fives(net, x, channels)
    with net.scope("halving1"):
        deep = _conv(net, _conv(net, _conv(net, x, 64), 96, 3), 96, 3, 2, VALID)
        x = net.concat([_conv(net, x, 384, 3, 2, VALID), deep, net.max_pool(x, 3, 2)])
    for number, channels in enumerate(SEVENS):
        with net.scope(f"sevens{number}"):
            x = _sevens(net, x, channels)
    with net.scope("halving2"):
        near = _conv(net, _conv(net, x, 192), 320, 3, 2, VALID)
        deep = _conv(net, _conv(net, _conv(net, x, 192), 192, (1, 7)), 192, (7, 1))
        x = net.concat([near, _conv(net, deep, 192, 3, 2, VALID), net.max_pool(x, 3, 2)])
    for number in range(2):
        with net.scope(f"threes{number}"):
            x = _threes(net, x)
    return net.model(logits=net.dense(net.global_average(x), classes))


def _conv(net: Network, x: Value, channels: int, kernel: Kernel = 1, stride: int = 1, padding: Padding = "centred") -> Value:
    return net.relu(net.conv(x, channels, kernel, stride, padding))


def _pooled(net: Network, x: Value, channels: int) -> Value:
    return _conv(net, net.average_pool(x, 3, 1, "centred", count_padding=True), channels)


def _fives(net: Network, x: Value, pooled: int) -> Value:
    five = _conv(net, _conv(net, x, 48), 64, 5)
    threes = _conv(net, _conv(net, _conv(net, x, 64), 96, 3), 96, 3)
    return net.concat([_conv(net, x, 64), five, threes, _pooled(net, x, pooled)])


def _sevens(net: Network, x: Value, width: int) -> Value:
    once = _conv(net, _conv(net, _conv(net, x, width), width, (1, 7)), 192, (7, 1))
    twice = _conv(net, _conv(net, _conv(net, x, width), width, (7, 1)), width, (1, 7))
    twice = _conv(net, _conv(net, twice, width, (7, 1)), 192, (1, 7))
    return net.concat([_conv(net, x, 192), once, twice, _pooled(net, x, 192)])


def _threes(net: Network, x: Value) -> Value:
    near = _split(net, _conv(net, x, 384))
    deep = _split(net, _conv(net, _conv(net, x, 448), 384, 3))
    return net.concat([_conv(net, x, 320), near, deep, _pooled(net, x, 192)])


def _split(net: Network, x: Value) -> Value:
    return net.concat([_conv(net, x, 384, (1, 3)), _conv(net, x, 384, (3, 1))])
