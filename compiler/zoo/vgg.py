"""VGG-16 and VGG-19 (Simonyan and Zisserman, 2014, configurations D and E)."""

from __future__ import annotations

from onnx import ModelProto

from compiler.zoo.network import Network


def vgg16(batch: int = 1, size: int = 224, seed: int = 0, classes: int = 1000, dense: bool = True) -> ModelProto:
    """VGG-16. Without ``dense`` it ends with the last pool, as papers on convolutions count it."""
    return _vgg("vgg16", (2, 2, 3, 3, 3), batch, size, seed, classes, dense)


def vgg19(batch: int = 1, size: int = 224, seed: int = 0, classes: int = 1000, dense: bool = True) -> ModelProto:
    return _vgg("vgg19", (2, 2, 4, 4, 4), batch, size, seed, classes, dense)


def _vgg(
    name: str, convolutions: tuple[int, ...], batch: int, size: int, seed: int, classes: int, dense: bool
) -> ModelProto:
    net = Network(name, seed)
    x = net.image(batch, size)
    for stage, count in enumerate(convolutions, start=1):
        with net.scope(f"stage{stage}"):
            for _ in range(count):
                x = net.relu(net.conv(x, min(32 << stage, 512), 3))
            x = net.max_pool(x)
    if not dense:
        return net.model(features=x)
    x = net.relu(net.dense(x, 4096))
    x = net.relu(net.dense(x, 4096))
    return net.model(logits=net.dense(x, classes))
