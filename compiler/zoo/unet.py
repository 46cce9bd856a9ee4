"""U-Net (Ronneberger et al., 2015) with padded convolutions; up by transposed convolution, or by bilinear resize."""

from __future__ import annotations

from onnx import ModelProto

from compiler.zoo.network import Network, Value

DEPTH = 4
"""How often the size is halved, and the channels are doubled."""


def unet(batch: int = 1, size: int = 256, seed: int = 0, classes: int = 2, width: int = 16, resize: bool = False) -> ModelProto:
    """U-Net; ``size`` is a multiple of 16, and there are ``width`` channels at full size (the paper has 64).

    With ``resize`` the way up is a bilinear resize and a 1x1 convolution instead of a 2x2 transposed one.
    """
    net = Network("unet_resize" if resize else "unet", seed)
    x = net.image(batch, size)
    skips = []
    for level in range(DEPTH):
        with net.scope(f"down{level}"):
            skips.append(_twice(net, x, width << level))
            x = net.max_pool(skips[-1])
    with net.scope("bottom"):
        x = _twice(net, x, width << DEPTH)
    for level in reversed(range(DEPTH)):
        with net.scope(f"up{level}"):
            channels = width << level
            up = net.conv(net.upsample(x, 2, "linear"), channels) if resize else net.transposed(x, channels)
            x = _twice(net, net.concat([skips[level], up]), channels)
    return net.model(mask=net.conv(x, classes))


def _twice(net: Network, x: Value, channels: int) -> Value:
    for _ in range(2):
        x = net.relu(net.conv(x, channels, 3))
    return x
