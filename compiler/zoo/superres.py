"""ESPCN (Shi et al., 2016): convolutions at the small size, then pixels out of channels."""

from __future__ import annotations

from onnx import ModelProto

from compiler.zoo.network import Value
from compiler.zoo.tokens import TokenNetwork


class _Pixels(TokenNetwork):
    def pixels(self, x: Value, factor: int) -> Value:
        shape = (x.shape[0], x.channels // factor**2, x.size[0] * factor, x.size[1] * factor)
        return self._node("DepthToSpace", [x], shape, x.moments, blocksize=factor, mode="CRD")


def espcn(batch: int = 1, size: int = 224, seed: int = 0, classes: int = 1, factor: int = 3) -> ModelProto:
    """ESPCN; ``classes`` are the channels of the image that is enlarged."""
    net = _Pixels("espcn", seed)
    x = net.relu(net.conv(net.image(batch, size, classes), 64, 5))
    x = net.relu(net.conv(x, 64, 3))
    x = net.relu(net.conv(x, 32, 3))
    return net.model(larger=net.pixels(net.conv(x, classes * factor**2, 3), factor))
