"""ShuffleNet-v2 (Ma et al., 2018), as torchvision exports it: half of the channels pass by; the shuffle has five dimensions."""

from __future__ import annotations

from onnx import ModelProto

from compiler.zoo.network import Value
from compiler.zoo.tokens import TokenNetwork


def shufflenet_v2(
    batch: int = 1, size: int = 224, seed: int = 0, classes: int = 1000, widths: tuple[int, ...] = (116, 232, 464),
    repeats: tuple[int, ...] = (4, 8, 4),
) -> ModelProto:  # fmt: skip
    net = TokenNetwork("shufflenet_v2", seed)
    x = net.max_pool(net.relu(net.conv(net.image(batch, size), 24, 3, 2)), 3, 2, "centred")
    for stage, (width, repeat) in enumerate(zip(widths, repeats, strict=True), start=2):
        for block in range(repeat):
            with net.scope(f"stage{stage}.{block}"):
                x = _shuffled(net, _unit(net, x, width // 2, 2 if block == 0 else 1))
    x = net.relu(net.conv(x, 1024))
    return net.model(logits=net.dense(net.mean(x, [2, 3]), classes))


def _unit(net: TokenNetwork, x: Value, width: int, stride: int) -> Value:
    if stride == 1:
        passed, y = net.split(x, 1, (x.channels // 2, x.channels // 2))
    else:
        passed, y = net.relu(net.conv(net.depthwise(x, 3, 2), width)), x
    y = net.relu(net.conv(y, width))
    return net.concat([passed, net.relu(net.conv(net.depthwise(y, 3, stride), width))])


def _shuffled(net: TokenNetwork, x: Value) -> Value:
    n, c, h, w = x.shape
    split = net.transposed_to(net.reshaped(x, n, 2, c // 2, h, w), 0, 2, 1, 3, 4)
    return net.reshaped(split, n, c, h, w)
