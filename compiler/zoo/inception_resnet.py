"""Inception-ResNet-v2 (Szegedy et al., 2016): inception blocks as residuals, with kernels of one row or one column.

Changed: batch normalisation and the residuals' scales are folded into the convolutions; no auxiliary classifier.
"""

from __future__ import annotations

from onnx import ModelProto

from compiler.zoo.geometry import Kernel, Padding
from compiler.zoo.network import Network, Value

Layer = tuple[int, Kernel]
"""The channels and the kernel."""
VALID: Padding = (0, 0, 0, 0)

BLOCK35: tuple[tuple[Layer, ...], ...] = (((32, 1),), ((32, 1), (32, 3)), ((32, 1), (48, 3), (64, 3)))
BLOCK17: tuple[tuple[Layer, ...], ...] = (((192, 1),), ((128, 1), (160, (1, 7)), (192, (7, 1))))
BLOCK8: tuple[tuple[Layer, ...], ...] = (((192, 1),), ((192, 1), (224, (1, 3)), (256, (3, 1))))


def inception_resnet_v2(
    batch: int = 1, size: int = 299, seed: int = 0, classes: int = 1000, repeats: tuple[int, int, int] = (10, 20, 9)
) -> ModelProto:
    net = Network("inception_resnet_v2", seed)
    x = _stem(net, net.image(batch, size))
    for number, blocks in enumerate((BLOCK35, BLOCK17, BLOCK8)):
        if number > 0:
            with net.scope(f"reduction{number}"):
                x = _reduction(net, x, number)
        for repeat in range(repeats[number]):
            with net.scope(f"block{number}.{repeat}"):
                x = net.relu(_residual(net, x, blocks))
    with net.scope("last"):
        x = net.relu(net.conv(_residual(net, x, BLOCK8), 1536))
    return net.model(logits=net.dense(net.global_average(x), classes))


def _stem(net: Network, x: Value) -> Value:
    x = _chain(net, x, ((32, 3),), 2, VALID)
    x = _chain(net, x, ((32, 3),), 1, VALID)
    x = net.max_pool(_chain(net, x, ((64, 3),)), 3, 2)
    x = _chain(net, x, ((80, 1),))
    x = net.max_pool(_chain(net, x, ((192, 3),), 1, VALID), 3, 2)
    with net.scope("inception"):
        pooled = _chain(net, net.average_pool(x, 3, 1, "centred"), ((64, 1),))
        chains = (((96, 1),), ((48, 1), (64, 5)), ((64, 1), (96, 3), (96, 3)))
        return net.concat([*(_chain(net, x, chain) for chain in chains), pooled])


def _chain(net: Network, x: Value, layers: tuple[Layer, ...], stride: int = 1, padding: Padding = "centred") -> Value:
    """Convolutions with ReLU; stride and padding are those of the last one."""
    for channels, kernel in layers[:-1]:
        x = net.relu(net.conv(x, channels, kernel))
    channels, kernel = layers[-1]
    return net.relu(net.conv(x, channels, kernel, stride, padding))


def _residual(net: Network, x: Value, chains: tuple[tuple[Layer, ...], ...]) -> Value:
    joined = net.concat([_chain(net, x, chain) for chain in chains])
    return net.add(x, net.conv(joined, x.channels))


def _reduction(net: Network, x: Value, number: int) -> Value:
    chains: dict[int, tuple[tuple[Layer, ...], ...]] = {
        1: (((384, 3),), ((256, 1), (256, 3), (384, 3))),
        2: (((256, 1), (384, 3)), ((256, 1), (288, 3)), ((256, 1), (288, 3), (320, 3))),
    }
    parts = [_chain(net, x, chain, 2, VALID) for chain in chains[number]]
    return net.concat([*parts, net.max_pool(x, 3, 2)])
