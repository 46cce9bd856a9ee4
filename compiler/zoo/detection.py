"""Detectors with their heads: YOLOv5n, YOLOv8n (Ultralytics, 2020, 2023), SSDLite on MobileNetV2 (Sandler et al., 2018)."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray
from onnx import ModelProto

from compiler.zoo.geometry import Kernel
from compiler.zoo.mobilenet import V2_STAGES, inverted_block
from compiler.zoo.moments import Moments
from compiler.zoo.network import Value
from compiler.zoo.squeeze import GatedNetwork

ANCHORS = 3
BINS = 16
"""The bins of the distribution of each distance in YOLOv8."""
EXTRAS = (512, 256, 256, 64)
"""The channels of SSDLite's maps beyond the last of the network; each is half as large as the one before."""
SSD_ANCHORS = 6


class _Detector(GatedNetwork):
    def layer(self, x: Value, channels: int, kernel: Kernel = 1, stride: int = 1) -> Value:
        return self.silu(self.conv(x, channels, kernel, stride))

    def spatial_pyramid(self, x: Value) -> Value:
        """Three 5x5 pools, one after the other, joined with their input."""
        maps = [self.layer(x, x.channels // 2)]
        for _ in range(3):
            maps.append(self.max_pool(maps[-1], 5, 1, "centred"))
        return self.layer(self.concat(maps), x.channels)

    def bottleneck(self, x: Value, *, first: int, add: bool) -> Value:
        y = self.layer(self.layer(x, x.channels, first), x.channels, 3)
        return self.add(x, y) if add else y

    def c3(self, x: Value, channels: int, count: int, add: bool = True) -> Value:
        y = self.layer(x, channels // 2)
        for _ in range(count):
            y = self.bottleneck(y, first=1, add=add)
        return self.layer(self.concat([y, self.layer(x, channels // 2)]), channels)

    def c2f(self, x: Value, channels: int, count: int, add: bool = True) -> Value:
        maps = self.split(self.layer(x, channels), 1, (channels // 2, channels // 2))
        for _ in range(count):
            maps.append(self.bottleneck(maps[-1], first=3, add=add))
        return self.layer(self.concat(maps), channels)

    def weighed(self, shares: Value) -> Value:
        """The mean of each distribution: a convolution whose weights are the numbers of the bins."""
        bins = np.arange(BINS, dtype=np.float32).reshape(1, BINS, 1, 1)
        shape = (shares.shape[0], 1, *shares.shape[2:])
        return self._node("Conv", [shares], shape, Moments(BINS / 2, 1.0), [self._constant("bins", bins)])

    def shifted(self, x: Value, by: NDArray[np.float32]) -> Value:
        moments = Moments(x.moments.mean + float(by.mean()), x.moments.variance + float(by.var()))
        return self._node("Add", [x], x.shape, moments, [self._constant("offsets", np.ascontiguousarray(by))])

    def scaled_by(self, x: Value, factors: NDArray[np.float32]) -> Value:
        return self._node("Mul", [x], x.shape, x.moments, [self._constant("factors", factors)])

    def less(self, a: Value, b: Value) -> Value:
        return self._node("Sub", [a, b], a.shape, Moments(a.moments.mean - b.moments.mean, 1.0))

    def squared(self, x: Value) -> Value:
        return self._node("Pow", [x], x.shape, x.moments, [self._constant("exponent", np.array(2, np.float32))])


def yolov5n(batch: int = 1, size: int = 640, seed: int = 0, classes: int = 80) -> ModelProto:
    """YOLOv5n; ``size`` is a multiple of 32. Boxes are decoded, one row for each anchor of each pixel."""
    net = _Detector("yolov5n", seed)
    x = net.silu(net.conv(net.image(batch, size), 16, 6, 2, (2, 2, 2, 2)))
    rows = []
    for level, features in enumerate(_pyramid(net, x, net.c3, net.layer, (1, 2, 3, 1))):
        with net.scope(f"head{level}"):
            rows.append(_boxes(net, net.conv(features, ANCHORS * (classes + 5)), classes + 5, 8 << level))
    return net.model(boxes=net.joined_along(rows, 1))


def yolov8n(batch: int = 1, size: int = 640, seed: int = 0, classes: int = 80) -> ModelProto:
    """YOLOv8n; ``size`` is a multiple of 32. Distances are means of distributions, a column for each pixel of three maps."""
    net = _Detector("yolov8n", seed)
    x = net.layer(net.image(batch, size), 16, 3, 2)
    flat = []
    for level, features in enumerate(_pyramid(net, x, net.c2f, lambda way, _: way, (1, 2, 2, 1))):
        with net.scope(f"head{level}"):
            parts = []
            for width, values in ((64, 4 * BINS), (max(64, min(classes, 100)), classes)):
                parts.append(net.conv(net.layer(net.layer(features, width, 3), width, 3), values))
            both = net.concat(parts)
            flat.append(net.reshaped(both, batch, both.channels, both.size[0] * both.size[1]))
    distances, scores = net.split(net.joined_along(flat, 2), 1, (4 * BINS, classes))
    return net.model(boxes=net.joined_along([_decoded(net, distances, size), net.sigmoid(scores)], 1))


def ssdlite(batch: int = 1, size: int = 320, seed: int = 0, classes: int = 91) -> ModelProto:
    """SSDLite: six maps, each with a depthwise and a point-wise layer for the classes and for the boxes of six anchors."""
    net = _Detector("ssdlite", seed)
    x = net.relu6(net.conv(net.image(batch, size), 32, 3, 2))
    maps = []
    for stage, (expansion, channels, blocks, stride, kernel) in enumerate(V2_STAGES):
        for block in range(blocks):
            with net.scope(f"stage{stage}.{block}"):
                x = inverted_block(net, x, expansion, channels, stride if block == 0 else 1, kernel)
        if stage == 4:
            maps.append(x)
    x = net.relu6(net.conv(x, 1280))
    maps.append(x)
    for number, channels in enumerate(EXTRAS):
        with net.scope(f"extra{number}"):
            x = net.relu6(net.depthwise(net.relu6(net.conv(x, channels // 2)), 3, 2))
            x = net.relu6(net.conv(x, channels))
            maps.append(x)
    found = {}
    for name, values in (("scores", classes), ("boxes", 4)):
        rows = []
        for level, features in enumerate(maps):
            with net.scope(f"{name}{level}"):
                y = net.conv(net.relu6(net.depthwise(features, 3)), SSD_ANCHORS * values)
                rows.append(_anchored(net, y, SSD_ANCHORS, values))
        found[name] = net.joined_along(rows, 1)
    return net.model(**found)


Block = Callable[[Value, int, int, bool], Value]


def _pyramid(
    net: _Detector, x: Value, block: Block, beside: Callable[[Value, int], Value], counts: tuple[int, ...]
) -> list[Value]:
    """Features at an eighth, a sixteenth and a thirty-second of the size; each level depends on the others."""
    maps: list[Value] = []
    for level, count in enumerate(counts):
        with net.scope(f"down{level}"):
            x = block(net.layer(x, 32 << level, 3, 2), 32 << level, count, True)
            maps.append(x)
    x = net.spatial_pyramid(x)
    passed: list[Value] = []
    for level in (2, 1):
        with net.scope(f"up{level}"):
            passed.insert(0, beside(x, 32 << level))
            x = block(net.concat([net.upsample(passed[0]), maps[level]]), 32 << level, 1, False)
    features = [x]
    for level, other in zip((2, 3), passed, strict=True):
        with net.scope(f"again{level}"):
            x = block(net.concat([net.layer(x, x.channels, 3, 2), other]), 32 << level, 1, False)
            features.append(x)
    return features


def _anchored(net: _Detector, x: Value, anchors: int, values: int) -> Value:
    """The map as batch x anchors of all pixels x values."""
    n, h, w = x.shape[0], *x.size
    return net.reshaped(net.transposed_to(net.reshaped(x, n, anchors, values, h, w), 0, 3, 4, 1, 2), n, h * w * anchors, values)


def _boxes(net: _Detector, x: Value, values: int, stride: int) -> Value:
    """The places and sizes of YOLOv5's boxes, from the results of the sigmoids."""
    n, h, w = x.shape[0], *x.size
    y = net.sigmoid(net.transposed_to(net.reshaped(x, n, ANCHORS, values, h, w), 0, 1, 3, 4, 2))
    places, sizes, scores = net.split(y, 4, (2, 2, values - 4))
    at = np.stack(np.meshgrid(np.arange(w), np.arange(h)), -1).astype(np.float32) - 0.5
    places = net.scaled(net.shifted(net.scaled(places, 2), np.broadcast_to(at, (1, ANCHORS, h, w, 2))), stride)
    sizes = net.scaled(net.squared(net.scaled(sizes, 2)), stride)
    return net.reshaped(net.joined_along([places, sizes, scores], 4), n, ANCHORS * h * w, values)


def _decoded(net: _Detector, x: Value, size: int) -> Value:
    """The centre and size of boxes in pixels of the image, from the mean of each distance's distribution."""
    n, _, pixels = x.shape
    shares = net.softmax(net.transposed_to(net.reshaped(x, n, 4, BINS, pixels), 0, 2, 1, 3), 1)
    near, far = net.split(net.reshaped(net.weighed(shares), n, 4, pixels), 1, (2, 2))
    sides = [size // step for step in (8, 16, 32)]
    grids = [np.stack(np.meshgrid(np.arange(s), np.arange(s))).reshape(2, -1) + 0.5 for s in sides]
    at = np.concatenate(grids, 1)[None].astype(np.float32)
    low, high = net.shifted(net.scaled(near, -1), at), net.shifted(far, at)
    strides = np.concatenate([np.full(s * s, step, np.float32) for s, step in zip(sides, (8, 16, 32), strict=True)])
    return net.scaled_by(net.joined_along([net.scaled(net.add(low, high), 0.5), net.less(high, low)], 1), strides)
