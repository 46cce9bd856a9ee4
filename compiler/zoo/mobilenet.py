"""MobileNetV1 and V2, MnasNet, EfficientNet-Lite0: depthwise and point-wise convolutions, batch normalisation folded."""

from __future__ import annotations

from collections.abc import Callable

from onnx import ModelProto

from compiler.zoo.geometry import Padding
from compiler.zoo.network import Network, Value

V1_BLOCKS = ((64, 1), (128, 2), (128, 1), (256, 2), (256, 1), (512, 2), *[(512, 1)] * 5, (1024, 2), (1024, 1))
"""The output channels and the stride of each block (Howard et al., 2017, table 1)."""

Activation = Callable[[Network, Value], Value]
Stage = tuple[int, int, int, int, int]
"""The expansion, output channels, blocks, stride of the first block, and kernel."""
V2_STAGES: tuple[Stage, ...] = (
    (1, 16, 1, 1, 3), (6, 24, 2, 2, 3), (6, 32, 3, 2, 3), (6, 64, 4, 2, 3), (6, 96, 3, 1, 3), (6, 160, 3, 2, 3),
    (6, 320, 1, 1, 3),
)  # fmt: skip
"""The stages of MobileNetV2: Sandler et al., 2018, table 2."""
LITE0_STAGES: tuple[Stage, ...] = (
    (1, 16, 1, 1, 3), (6, 24, 2, 2, 3), (6, 40, 2, 2, 5), (6, 80, 3, 2, 3), (6, 112, 3, 1, 5), (6, 192, 4, 2, 5),
    (6, 320, 1, 1, 3),
)  # fmt: skip
"""The stages of EfficientNet-B0, which Lite0 has without squeeze-and-excitation and with ReLU6 for Swish."""


MNASNET_STAGES: tuple[Stage, ...] = (
    (1, 16, 1, 1, 3), (3, 24, 3, 2, 3), (3, 40, 3, 2, 5), (6, 80, 3, 2, 5), (6, 96, 2, 1, 3), (6, 192, 4, 2, 5),
    (6, 320, 1, 1, 3),
)  # fmt: skip
"""The stages of MnasNet-B1, the sibling of A1 (Tan et al., 2019) that torchvision has."""


def mobilenet_v1(batch: int = 1, size: int = 224, seed: int = 0, classes: int = 1000) -> ModelProto:
    net = Network("mobilenet_v1", seed)
    x = net.relu(net.conv(net.image(batch, size), 32, 3, 2))
    for number, (channels, stride) in enumerate(V1_BLOCKS, start=1):
        with net.scope(f"block{number}"):
            x = net.relu(net.depthwise(x, 3, stride))
            x = net.relu(net.conv(x, channels))
    return net.model(logits=net.dense(net.global_average(x), classes))


def mobilenet_v2(batch: int = 1, size: int = 224, seed: int = 0, classes: int = 1000) -> ModelProto:
    return _inverted("mobilenet_v2", V2_STAGES, "centred", batch, size, seed, classes)


def efficientnet_lite0(batch: int = 1, size: int = 224, seed: int = 0, classes: int = 1000) -> ModelProto:
    """EfficientNet-Lite0, padded as in TensorFlow: at stride 2 more on the far side than on the near one."""
    return _inverted("efficientnet_lite0", LITE0_STAGES, "same", batch, size, seed, classes)


def mnasnet(batch: int = 1, size: int = 224, seed: int = 0, classes: int = 1000) -> ModelProto:
    return _inverted("mnasnet", MNASNET_STAGES, "centred", batch, size, seed, classes, Network.relu)


def _inverted(
    name: str, stages: tuple[Stage, ...], padding: Padding, batch: int, size: int, seed: int, classes: int,
    act: Activation = Network.relu6,
) -> ModelProto:  # fmt: skip
    net = Network(name, seed)
    x = act(net, net.conv(net.image(batch, size), 32, 3, 2, padding))
    for stage, (expansion, channels, blocks, stride, kernel) in enumerate(stages, start=1):
        for block in range(blocks):
            with net.scope(f"stage{stage}.{block}"):
                x = inverted_block(net, x, expansion, channels, stride if block == 0 else 1, kernel, padding, act)
    x = act(net, net.conv(x, 1280))
    return net.model(logits=net.dense(net.global_average(x), classes))


def inverted_block(
    net: Network, x: Value, expansion: int, channels: int, stride: int, kernel: int, padding: Padding = "centred",
    act: Activation = Network.relu6,
) -> Value:  # fmt: skip
    y = act(net, net.conv(x, expansion * x.channels)) if expansion > 1 else x
    y = act(net, net.depthwise(y, kernel, stride, padding))
    y = net.conv(y, channels)
    return net.add(x, y) if stride == 1 and x.channels == channels else y
