"""DenseNet-121 (Huang et al., 2016). Normalisation precedes the convolution, after a concat: it cannot be folded back."""

from __future__ import annotations

from onnx import ModelProto

from compiler.zoo.network import Network, Value


def densenet(
    batch: int = 1,
    size: int = 224,
    seed: int = 0,
    classes: int = 1000,
    blocks: tuple[int, ...] = (6, 12, 24, 16),
    growth: int = 32,
    flat: bool = False,
) -> ModelProto:
    """DenseNet. Each layer adds ``growth`` channels; the transition between two blocks halves channels and size.

    With ``flat`` each layer joins all features of its block anew, as in PyTorch's export.
    """
    net = Network("densenet", seed)
    x = net.relu(net.conv(net.image(batch, size), 2 * growth, 7, 2))
    x = net.max_pool(x, 3, 2, "centred")
    for block, layers in enumerate(blocks, start=1):
        if block > 1:
            with net.scope(f"transition{block - 1}"):
                x = net.average_pool(_normalised_conv(net, x, x.channels // 2))
        features = [x]
        for layer in range(layers):
            with net.scope(f"block{block}.{layer}"):
                y = _normalised_conv(net, x, 4 * growth)
                features.append(_normalised_conv(net, y, growth, 3))
                x = net.concat(features if flat else [x, features[-1]])
    x = net.relu(net.batch_norm(x))
    return net.model(logits=net.dense(net.global_average(x), classes))


def _normalised_conv(net: Network, x: Value, channels: int, kernel: int = 1) -> Value:
    return net.conv(net.relu(net.batch_norm(x)), channels, kernel)
