"""ResNet (He et al., 2015), with batch normalisation folded into the convolutions.

The usual variant ("v1.5", torchvision's) has the stride of a bottleneck in its 3x3: ResNet-50 is 4.09 GMAC. With ``v1`` it is
in the first 1x1, as in the paper, in Caffe's models and so in DNNVM's tables: 3.86 GMAC.
"""

from __future__ import annotations

from onnx import ModelProto

from compiler.zoo.network import Network, Value


def resnet18(batch: int = 1, size: int = 224, seed: int = 0, classes: int = 1000) -> ModelProto:
    net = Network("resnet18", seed)
    x = _stem(net, net.image(batch, size))
    for stage, channels in enumerate((64, 128, 256, 512), start=1):
        for block in range(2):
            with net.scope(f"stage{stage}.{block}"):
                x = basic_block(net, x, channels, stride=2 if stage > 1 and block == 0 else 1)
    return net.model(logits=net.dense(net.global_average(x), classes))


def resnet50(batch: int = 1, size: int = 224, seed: int = 0, classes: int = 1000, v1: bool = False) -> ModelProto:
    return _bottlenecks("resnet50", (3, 4, 6, 3), batch, size, seed, classes, v1)


def resnext50(
    batch: int = 1, size: int = 224, seed: int = 0, classes: int = 1000, blocks: tuple[int, ...] = (3, 4, 6, 3)
) -> ModelProto:
    """ResNeXt-50 with 32 groups of 4 channels (Xie et al., 2017)."""
    return _bottlenecks("resnext50", blocks, batch, size, seed, classes, wider=2, groups=32)


def wide_resnet50(
    batch: int = 1, size: int = 224, seed: int = 0, classes: int = 1000, blocks: tuple[int, ...] = (3, 4, 6, 3)
) -> ModelProto:
    """A ResNet-50 that is twice as wide within the bottlenecks (Zagoruyko and Komodakis, 2016)."""
    return _bottlenecks("wide_resnet50", blocks, batch, size, seed, classes, wider=2)


def resnet152(batch: int = 1, size: int = 224, seed: int = 0, classes: int = 1000, v1: bool = False) -> ModelProto:
    return _bottlenecks("resnet152", (3, 8, 36, 3), batch, size, seed, classes, v1)


def basic_block(net: Network, x: Value, channels: int, stride: int = 1, dilation: int = 1) -> Value:
    """Two 3x3 and a shortcut, which is a 1x1 where the shape changes."""
    y = net.relu(net.conv(x, channels, 3, stride, dilation=dilation))
    y = net.conv(y, channels, 3, dilation=dilation)
    return net.relu(net.add(y, _shortcut(net, x, channels, stride)))


def _bottlenecks(
    name: str, blocks: tuple[int, ...], batch: int, size: int, seed: int, classes: int, v1: bool = False, wider: int = 1,
    groups: int = 1,
) -> ModelProto:  # fmt: skip
    net = Network(name, seed)
    x = _stem(net, net.image(batch, size))
    for stage, count in enumerate(blocks, start=1):
        for block in range(count):
            with net.scope(f"stage{stage}.{block}"):
                x = _bottleneck(net, x, 32 << stage, 2 if stage > 1 and block == 0 else 1, v1, wider, groups)
    return net.model(logits=net.dense(net.global_average(x), classes))


def dilated_features(net: Network, x: Value, blocks: tuple[int, ...] = (3, 4, 6, 3)) -> Value:
    """The features of ResNet-50 at an eighth of the size: the last two stages dilate instead of halving, as in torchvision."""
    x = _stem(net, x)
    dilation = 1
    for stage, count in enumerate(blocks, start=1):
        for block in range(count):
            with net.scope(f"stage{stage}.{block}"):
                x = _bottleneck(net, x, 32 << stage, 2 if stage == 2 and block == 0 else 1, False, dilation=dilation)
            dilation = 1 << max(stage - 2, 0)
    return x


def _stem(net: Network, x: Value) -> Value:
    return net.max_pool(net.relu(net.conv(x, 64, 7, 2)), 3, 2, "centred")


def _bottleneck(
    net: Network, x: Value, channels: int, stride: int, v1: bool, wider: int = 1, groups: int = 1, dilation: int = 1
) -> Value:
    y = net.relu(net.conv(x, wider * channels, 1, stride if v1 else 1))
    y = net.relu(net.conv(y, wider * channels, 3, 1 if v1 else stride, dilation=dilation, groups=groups))
    y = net.conv(y, 4 * channels)
    return net.relu(net.add(y, _shortcut(net, x, 4 * channels, stride)))


def _shortcut(net: Network, x: Value, channels: int, stride: int) -> Value:
    return x if stride == 1 and x.channels == channels else net.conv(x, channels, 1, stride)
