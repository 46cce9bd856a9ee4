"""Swin transformer (Liu et al., 2021): attention in windows, which every other block shifts."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from onnx import ModelProto

from compiler.zoo.network import Value
from compiler.zoo.tokens import TokenNetwork


def swin(
    batch: int = 1, size: int = 224, seed: int = 0, classes: int = 1000, width: int = 96,
    depths: tuple[int, ...] = (2, 2, 6, 2), window: int = 7,
) -> ModelProto:  # fmt: skip
    """Swin, with one head for each 32 features. Between stages four neighbours become one token of twice the features."""
    net = TokenNetwork("swin", seed)
    x = net.conv(net.image(batch, size), width, 4, 4, (0, 0, 0, 0))
    x = net.layer_norm(net.transposed_to(x, 0, 2, 3, 1))
    for stage, depth in enumerate(depths):
        if stage:
            with net.scope(f"merge{stage}"):
                x = _merged(net, x)
        for block in range(depth):
            with net.scope(f"stage{stage}.{block}"):
                shift = window // 2 if block % 2 and x.shape[1] > window else 0
                x = net.add(x, _windowed(net, net.layer_norm(x), window, shift))
                x = net.add(x, net.perceptron(net.layer_norm(x), 4 * x.shape[-1]))
    return net.model(logits=net.dense(net.mean(net.layer_norm(x), [1, 2]), classes))


def _windowed(net: TokenNetwork, x: Value, window: int, shift: int) -> Value:
    """Attention among the tokens of each window of a map that is rolled by ``shift``."""
    n, h, w, c = x.shape
    side = min(window, h)
    rolled = _rolled(net, x, shift)
    cut = net.reshaped(rolled, n, h // side, side, w // side, side, c)
    tokens = net.reshaped(net.transposed_to(cut, 0, 1, 3, 2, 4, 5), n * (h // side) * (w // side), side * side, c)
    mask = _apart(h, w, side, shift) if shift else None
    mixed = net.attention(tokens, c // 32, c, bias=True, mask=mask)
    back = net.transposed_to(net.reshaped(mixed, n, h // side, w // side, side, side, c), 0, 1, 3, 2, 4, 5)
    return _rolled(net, net.reshaped(back, n, h, w, c), -shift)


def _apart(h: int, w: int, side: int, shift: int) -> NDArray[np.float32]:
    """The mask of the tokens in each window of a rolled map: -100 for two tokens that were no neighbours before."""
    bands = [np.searchsorted([size - side, size - shift], np.arange(size), "right") for size in (h, w)]
    regions = bands[0][:, None] * 3 + bands[1]
    windows = regions.reshape(h // side, side, w // side, side).transpose(0, 2, 1, 3).reshape(-1, side * side)
    return np.where(windows[:, :, None] == windows[:, None], 0, -100).astype(np.float32)


def _rolled(net: TokenNetwork, x: Value, shift: int) -> Value:
    if shift:
        for axis in (1, 2):
            where, end = shift % x.shape[axis], x.shape[axis]
            x = net.joined_along([net.part(x, axis, where, end), net.part(x, axis, 0, where)], axis)
    return x


def _merged(net: TokenNetwork, x: Value) -> Value:
    """Four neighbours as one token: their pixels are joined, normalised, and halved by a dense layer."""
    n, h, w, c = x.shape
    pixels = net.transposed_to(net.reshaped(x, n, h // 2, 2, w // 2, 2, c), 0, 1, 3, 4, 2, 5)
    return net.linear(net.layer_norm(net.reshaped(pixels, n, h // 2, w // 2, 4 * c)), 2 * c)
