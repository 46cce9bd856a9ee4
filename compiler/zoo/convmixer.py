"""ConvMixer (Trockman and Kolter, 2022) and RepVGG-A0 as it is deployed (Ding et al., 2021): plain stacks."""

from __future__ import annotations

from onnx import ModelProto

from compiler.zoo.tokens import TokenNetwork

REPVGG = ((48, 2), (96, 4), (192, 14), (1280, 1))
"""The width and depth of each stage."""


def convmixer(
    batch: int = 1, size: int = 224, seed: int = 0, classes: int = 1000, width: int = 256, depth: int = 8, kernel: int = 9,
    patch: int = 7,
) -> ModelProto:  # fmt: skip
    """ConvMixer. Normalisations come behind GELU, so they fold into no layer."""
    net = TokenNetwork("convmixer", seed)
    x = net.batch_norm(net.gelu(net.conv(net.image(batch, size), width, patch, patch, (0, 0, 0, 0))))
    for block in range(depth):
        with net.scope(f"block{block}"):
            x = net.add(net.batch_norm(net.gelu(net.depthwise(x, kernel))), x)
            x = net.batch_norm(net.gelu(net.conv(x, width)))
    return net.model(logits=net.dense(net.global_average(x), classes))


def repvgg(batch: int = 1, size: int = 224, seed: int = 0, classes: int = 1000) -> ModelProto:
    """RepVGG. Each block is one 3x3, the sum of its branches."""
    net = TokenNetwork("repvgg", seed)
    x = net.relu(net.conv(net.image(batch, size), 48, 3, 2))
    for stage, (width, depth) in enumerate(REPVGG):
        for block in range(depth):
            with net.scope(f"stage{stage}.{block}"):
                x = net.relu(net.conv(x, width, 3, 1 if block else 2))
    return net.model(logits=net.dense(net.global_average(x), classes))
