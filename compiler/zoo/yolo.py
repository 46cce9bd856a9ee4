"""YOLOv3-tiny (Redmon and Farhadi, 2018) up to its two raw detection maps: LeakyReLU, upsample, concat."""

from __future__ import annotations

from onnx import ModelProto

from compiler.zoo.network import Network, Value

ANCHORS = 3


def yolov3_tiny(batch: int = 1, size: int = 416, seed: int = 0, classes: int = 80) -> ModelProto:
    """YOLOv3-tiny; ``size`` is a multiple of 32, and the outputs have 1/32 and 1/16 of it."""
    net = Network("yolov3_tiny", seed)
    x = net.image(batch, size)
    for channels in (16, 32, 64, 128):
        x = net.max_pool(_conv(net, x, channels, 3))
    route = _conv(net, x, 256, 3)
    x = _conv(net, net.max_pool(route), 512, 3)
    x = net.max_pool(x, 2, 1, "same")
    x = _conv(net, x, 1024, 3)
    x = _conv(net, x, 256, 1)
    values = ANCHORS * (classes + 5)
    coarse = net.conv(_conv(net, x, 512, 3), values)
    x = net.concat([net.upsample(_conv(net, x, 128, 1)), route])
    fine = net.conv(_conv(net, x, 256, 3), values)
    return net.model(coarse=coarse, fine=fine)


def _conv(net: Network, x: Value, channels: int, kernel: int) -> Value:
    return net.leaky_relu(net.conv(x, channels, kernel))
