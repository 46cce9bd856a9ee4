"""AlexNet in one tower (Krizhevsky, 2014; torchvision's): no groups and no local response normalisation."""

from __future__ import annotations

from onnx import ModelProto

from compiler.zoo.network import Network


def alexnet(batch: int = 1, size: int = 224, seed: int = 0, classes: int = 1000) -> ModelProto:
    net = Network("alexnet", seed)
    x = net.relu(net.conv(net.image(batch, size), 64, 11, 4, (2, 2, 2, 2)))
    x = net.max_pool(x, 3)
    x = net.relu(net.conv(x, 192, 5))
    x = net.max_pool(x, 3)
    for channels in (384, 256, 256):
        x = net.relu(net.conv(x, channels, 3))
    x = net.max_pool(x, 3)
    x = net.relu(net.dense(x, 4096))
    x = net.relu(net.dense(x, 4096))
    return net.model(logits=net.dense(x, classes))
