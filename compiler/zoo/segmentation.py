"""FCN, DeepLabV3 (Long et al., 2015; Chen et al., 2017) on a dilated ResNet-50, and LR-ASPP (Howard et al., 2019)."""

from __future__ import annotations

from onnx import ModelProto

from compiler.zoo.network import Network
from compiler.zoo.resnet import dilated_features
from compiler.zoo.squeeze import V3_LARGE, GatedNetwork, v3_features

RATES = (12, 24, 36)
"""The dilations of the pyramid at an eighth of the size."""


def fcn_resnet50(
    batch: int = 1, size: int = 224, seed: int = 0, classes: int = 21, blocks: tuple[int, ...] = (3, 4, 6, 3)
) -> ModelProto:
    net = Network("fcn_resnet50", seed)
    image = net.image(batch, size)
    x = dilated_features(net, image, blocks)
    x = net.conv(net.relu(net.conv(x, x.channels // 4, 3)), classes)
    return net.model(mask=net.resize(x, image.size))


def deeplabv3_resnet50(
    batch: int = 1, size: int = 224, seed: int = 0, classes: int = 21, blocks: tuple[int, ...] = (3, 4, 6, 3)
) -> ModelProto:
    net = Network("deeplabv3_resnet50", seed)
    image = net.image(batch, size)
    x = dilated_features(net, image, blocks)
    with net.scope("pyramid"):
        branches = [net.relu(net.conv(x, 256))]
        branches += [net.relu(net.conv(x, 256, 3, dilation=rate)) for rate in RATES]
        branches.append(net.resize(net.relu(net.conv(net.global_average(x), 256)), x.size))
        x = net.relu(net.conv(net.concat(branches), 256))
    x = net.conv(net.relu(net.conv(x, 256, 3)), classes)
    return net.model(mask=net.resize(x, image.size))


def lraspp_mobilenet_v3(batch: int = 1, size: int = 224, seed: int = 0, classes: int = 21) -> ModelProto:
    """LR-ASPP: MobileNetV3-Large with a dilated last stage, a gate from the mean of all, and details at 1/8 of the size."""
    net = GatedNetwork("lraspp_mobilenet_v3", seed)
    image = net.image(batch, size)
    deep, fine = v3_features(net, image, V3_LARGE, dilated=12)
    with net.scope("head"):
        gate = net.sigmoid(net.conv(net.global_average(deep), 128))
        x = net.times(net.relu(net.conv(deep, 128)), gate)
        x = net.resize(x, fine.size)
        x = net.add(net.conv(fine, classes), net.conv(x, classes))
        return net.model(mask=net.resize(x, image.size))
