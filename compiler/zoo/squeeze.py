"""MobileNetV3-Large and EfficientNet-B0 (Howard et al., Tan and Le, 2019), as torchvision exports them, with their gates."""

from __future__ import annotations

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
"""Kernel, expanded channels, channels, gate, HardSwish (else ReLU), stride."""
B0 = (
    (1, 16, 1, 1, 3), (6, 24, 2, 2, 3), (6, 40, 2, 2, 5), (6, 80, 3, 2, 3), (6, 112, 3, 1, 5), (6, 192, 4, 2, 5),
    (6, 320, 1, 1, 3),
)  # fmt: skip
"""Expansion, channels, blocks, stride of the first, kernel."""


class GatedNetwork(TokenNetwork):
    """Activations and gates of these networks."""

    def hard_swish(self, x: Value) -> Value:
        return self._node("HardSwish", [x], x.shape, Moments(0.3, 0.5))

    def silu(self, x: Value) -> Value:
        gate = self._node("Sigmoid", [x], x.shape, Moments(0.5, 0.05))
        return self._node("Mul", [x, gate], x.shape, Moments(0.2, 0.35))

    def gated(self, x: Value, squeezed: int, *, hard: bool) -> Value:
        """A factor between 0 and 1 for each channel, made of the means of all."""
        y = self.conv(self.global_average(x), squeezed)
        y = self.conv(self.relu(y) if hard else self.silu(y), x.channels)
        share = Moments(0.5, 0.05)
        if hard:
            gate = self._node("HardSigmoid", [y], y.shape, share, alpha=1 / 6)
        else:
            gate = self._node("Sigmoid", [y], y.shape, share)
        return self._node("Mul", [x, gate], x.shape, Moments(x.moments.mean / 2, x.moments.variance / 4))


def mobilenet_v3(batch: int = 1, size: int = 224, seed: int = 0, classes: int = 1000) -> ModelProto:
    net = GatedNetwork("mobilenet_v3", seed)
    x = net.hard_swish(net.conv(net.image(batch, size), 16, 3, 2))
    for number, (kernel, expanded, channels, gate, hard, stride) in enumerate(V3_LARGE):
        with net.scope(f"block{number}"):
            act = net.hard_swish if hard else net.relu
            y = act(net.conv(x, expanded)) if expanded != x.channels else x
            y = act(net.depthwise(y, kernel, stride))
            if gate:
                y = net.gated(y, -(-expanded // 4 // 8) * 8, hard=True)
            y = net.conv(y, channels)
            x = net.add(x, y) if stride == 1 and channels == x.channels else y
    x = net.global_average(net.hard_swish(net.conv(x, 960)))
    return net.model(logits=net.dense(net.hard_swish(net.dense(x, 1280)), classes))


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
