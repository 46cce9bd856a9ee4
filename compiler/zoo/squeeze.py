"""MobileNetV3, EfficientNet-B0 and EfficientNetV2-S (Howard et al., 2019; Tan and Le, 2019, 2021) as torchvision has them."""

from __future__ import annotations

from collections.abc import Callable

from onnx import ModelProto

from compiler.zoo.moments import Moments
from compiler.zoo.network import Value
from compiler.zoo.tokens import TokenNetwork

V3_LARGE = (
    (3, 16, 16, False, False, 1), (3, 64, 24, False, False, 2), (3, 72, 24, False, False, 1), (5, 72, 40, True, False, 2),
    (5, 120, 40, True, False, 1), (5, 120, 40, True, False, 1), (3, 240, 80, False, True, 2), (3, 200, 80, False, True, 1),
    (3, 184, 80, False, True, 1), (3, 184, 80, False, True, 1), (3, 480, 112, True, True, 1), (3, 672, 112, True, True, 1),
    (5, 672, 160, True, True, 2), (5, 960, 160, True, True, 1), (5, 960, 160, True, True, 1),
)  # fmt: skip
"""The kernel, expanded channels, channels, gate, HardSwish (else ReLU) and stride of each block."""
V3_SMALL = (
    (3, 16, 16, True, False, 2), (3, 72, 24, False, False, 2), (3, 88, 24, False, False, 1), (5, 96, 40, True, True, 2),
    (5, 240, 40, True, True, 1), (5, 240, 40, True, True, 1), (5, 120, 48, True, True, 1), (5, 144, 48, True, True, 1),
    (5, 288, 96, True, True, 2), (5, 576, 96, True, True, 1), (5, 576, 96, True, True, 1),
)  # fmt: skip
V2_S = (
    (1, 24, 2, 1, True), (4, 48, 4, 2, True), (4, 64, 4, 2, True), (4, 128, 6, 2, False), (6, 160, 9, 1, False),
    (6, 256, 15, 2, False),
)  # fmt: skip
"""The expansion, channels, blocks, stride of the first, and whether expansion and depthwise convolution are one 3x3."""
B0 = (
    (1, 16, 1, 1, 3), (6, 24, 2, 2, 3), (6, 40, 2, 2, 5), (6, 80, 3, 2, 3), (6, 112, 3, 1, 5), (6, 192, 4, 2, 5),
    (6, 320, 1, 1, 3),
)  # fmt: skip
"""The expansion, channels, blocks, stride of the first, and kernel."""


class GatedNetwork(TokenNetwork):
    """A network with the activations and gates of these networks."""

    def hard_swish(self, x: Value) -> Value:
        return self._node("HardSwish", [x], x.shape, Moments(0.3, 0.5))

    def sigmoid(self, x: Value) -> Value:
        return self._node("Sigmoid", [x], x.shape, Moments(0.5, 0.05))

    def silu(self, x: Value) -> Value:
        return self._node("Mul", [x, self.sigmoid(x)], x.shape, Moments(0.2, 0.35))

    def gated(
        self, x: Value, squeezed: int, *, hard: bool, between: Callable[[Value], Value] | None = None
    ) -> Value:
        """The map times a factor between 0 and 1 for each channel, which depends on the means of all channels."""
        y = self.conv(self.global_average(x), squeezed)
        y = self.conv((between or (self.relu if hard else self.silu))(y), x.channels)
        gate = self._node("HardSigmoid", [y], y.shape, Moments(0.5, 0.05), alpha=1 / 6) if hard else self.sigmoid(y)
        return self._node("Mul", [x, gate], x.shape, Moments(x.moments.mean / 2, x.moments.variance / 4))


def mobilenet_v3(
    batch: int = 1, size: int = 224, seed: int = 0, classes: int = 1000, small: bool = False
) -> ModelProto:
    net = GatedNetwork("mobilenet_v3", seed)
    x, _ = v3_features(net, net.image(batch, size), V3_SMALL if small else V3_LARGE)
    return net.model(logits=net.dense(net.hard_swish(net.dense(net.global_average(x), 1024 if small else 1280)), classes))


def v3_features(
    net: GatedNetwork, x: Value, blocks: tuple[tuple[int, int, int, bool, bool, int], ...] = V3_LARGE, dilated: int = 99
) -> tuple[Value, Value]:
    """The last map, and the last of an eighth of the size. From block ``dilated`` on kernels dilate instead of halving."""
    side = x.size[0]
    x = eighth = net.hard_swish(net.conv(x, 16, 3, 2))
    for number, (kernel, expanded, channels, gate, hard, stride) in enumerate(blocks):
        with net.scope(f"block{number}"):
            act = net.hard_swish if hard else net.relu
            y = act(net.conv(x, expanded)) if expanded != x.channels else x
            dilation, stride = (2, 1) if number >= dilated else (1, stride)
            y = act(net.depthwise(y, kernel, stride, dilation=dilation))
            if gate:
                y = net.gated(y, -(-expanded // 4 // 8) * 8, hard=True)
            y = net.conv(y, channels)
            x = net.add(x, y) if stride == 1 and channels == x.channels else y
            eighth = x if x.size[0] >= side // 8 else eighth
    return net.hard_swish(net.conv(x, 6 * x.channels)), eighth


def efficientnet_b0(batch: int = 1, size: int = 224, seed: int = 0, classes: int = 1000) -> ModelProto:
    net = GatedNetwork("efficientnet_b0", seed)
    x = net.silu(net.conv(net.image(batch, size), 32, 3, 2))
    for stage, (expansion, channels, blocks, first, kernel) in enumerate(B0):
        for block in range(blocks):
            with net.scope(f"stage{stage}.{block}"):
                stride, before = first if block == 0 else 1, x.channels
                y = net.silu(net.conv(x, before * expansion)) if expansion > 1 else x
                y = net.gated(net.silu(net.depthwise(y, kernel, stride)), before // 4, hard=False)
                y = net.conv(y, channels)
                x = net.add(x, y) if stride == 1 and channels == before else y
    x = net.global_average(net.silu(net.conv(x, 1280)))
    return net.model(logits=net.dense(x, classes))


def efficientnet_v2_s(
    batch: int = 1, size: int = 224, seed: int = 0, classes: int = 1000,
    stages: tuple[tuple[int, int, int, int, bool], ...] = V2_S,
) -> ModelProto:  # fmt: skip
    net = GatedNetwork("efficientnet_v2_s", seed)
    x = net.silu(net.conv(net.image(batch, size), 24, 3, 2))
    for stage, (expansion, channels, blocks, first, fused) in enumerate(stages):
        for block in range(blocks):
            with net.scope(f"stage{stage}.{block}"):
                stride, before = first if block == 0 else 1, x.channels
                if fused:
                    y = net.silu(net.conv(x, before * expansion, 3, stride))
                    y = net.conv(y, channels) if expansion > 1 else y
                else:
                    y = net.silu(net.depthwise(net.silu(net.conv(x, before * expansion)), 3, stride))
                    y = net.conv(net.gated(y, before // 4, hard=False), channels)
                x = net.add(x, y) if stride == 1 and channels == before else y
    x = net.global_average(net.silu(net.conv(x, 1280)))
    return net.model(logits=net.dense(x, classes))
