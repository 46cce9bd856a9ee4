"""ConvNeXt (Liu et al., 2022), as torchvision exports it."""

from __future__ import annotations

from onnx import ModelProto

from compiler.zoo.network import Value
from compiler.zoo.tokens import TokenNetwork


def convnext(
    batch: int = 1, size: int = 224, seed: int = 0, classes: int = 1000, widths: tuple[int, ...] = (96, 192, 384, 768),
    depths: tuple[int, ...] = (3, 3, 9, 3),
) -> ModelProto:  # fmt: skip
    """ConvNeXt: depthwise 7x7, then two dense layers on channels-last pixels, scaled and added; norms before each halving."""
    net = TokenNetwork("convnext", seed)
    x = _norm_second(net, net.conv(net.image(batch, size), widths[0], 4, 4, (0, 0, 0, 0)))
    for stage, (width, depth) in enumerate(zip(widths, depths, strict=True)):
        if stage:
            with net.scope(f"halving{stage}"):
                x = net.conv(_norm_second(net, x), width, 2, 2, (0, 0, 0, 0))
        for block in range(depth):
            with net.scope(f"stage{stage}.{block}"):
                last = net.layer_norm(net.transposed_to(net.depthwise(x, 7), 0, 2, 3, 1))
                y = net.transposed_to(net.perceptron(last, 4 * width), 0, 3, 1, 2)
                x = net.add(net.layer_scale(y, (width, 1, 1)), x)
    x = _norm_second(net, net.global_average(x))
    return net.model(logits=net.dense(x, classes))


def _norm_second(net: TokenNetwork, x: Value) -> Value:
    """Layer normalisation over channels that come second."""
    return net.transposed_to(net.layer_norm(net.transposed_to(x, 0, 2, 3, 1)), 0, 3, 1, 2)


def layer_norms(depths: tuple[int, ...] = (3, 3, 9, 3)) -> int:
    """The number of layer normalisations of the network."""
    return 1 + sum(depths) + len(depths) - 1 + 1
