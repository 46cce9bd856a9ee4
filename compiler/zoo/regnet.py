"""RegNetX and RegNetY of 400 MFLOP (Radosavovic et al., 2020), as torchvision has them: grouped bottlenecks, Y with gates."""

from __future__ import annotations

from onnx import ModelProto

from compiler.zoo.network import Value
from compiler.zoo.squeeze import GatedNetwork

X_WIDTHS, X_DEPTHS, X_GROUP = (32, 64, 160, 400), (1, 2, 7, 12), 16
Y_WIDTHS, Y_DEPTHS, Y_GROUP = (48, 104, 208, 440), (1, 3, 6, 6), 8


def regnet_x(
    batch: int = 1, size: int = 224, seed: int = 0, classes: int = 1000, depths: tuple[int, ...] = X_DEPTHS
) -> ModelProto:
    return _regnet("regnet_x", X_WIDTHS, depths, X_GROUP, False, batch, size, seed, classes)


def regnet_y(
    batch: int = 1, size: int = 224, seed: int = 0, classes: int = 1000, depths: tuple[int, ...] = Y_DEPTHS
) -> ModelProto:
    return _regnet("regnet_y", Y_WIDTHS, depths, Y_GROUP, True, batch, size, seed, classes)


def _regnet(
    name: str, widths: tuple[int, ...], depths: tuple[int, ...], group: int, gates: bool, batch: int, size: int, seed: int,
    classes: int,
) -> ModelProto:  # fmt: skip
    net = GatedNetwork(name, seed)
    x = net.relu(net.conv(net.image(batch, size), 32, 3, 2))
    for stage, (width, depth) in enumerate(zip(widths, depths, strict=True)):
        for block in range(depth):
            with net.scope(f"stage{stage}.{block}"):
                x = _block(net, x, width, 1 if block else 2, group, gates)
    return net.model(logits=net.dense(net.global_average(x), classes))


def _block(net: GatedNetwork, x: Value, width: int, stride: int, group: int, gates: bool) -> Value:
    y = net.relu(net.conv(x, width))
    y = net.relu(net.conv(y, width, 3, stride, groups=width // group))
    if gates:
        y = net.gated(y, round(x.channels / 4), hard=False, between=net.relu)
    y = net.conv(y, width)
    shortcut = net.conv(x, width, 1, stride) if stride > 1 or width != x.channels else x
    return net.relu(net.add(shortcut, y))
