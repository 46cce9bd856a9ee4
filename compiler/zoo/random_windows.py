"""Random layers with windows and weights: convolutions, pools, reductions, dense layers, resizes."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from compiler.zoo import moments
from compiler.zoo.moments import Moments
from compiler.zoo.random_layers import MOST_CHANNELS, MOST_PIXELS, AnyNetwork, Made, Maps, layer


@layer("conv", "another conv", also_old=True)
def _conv(net: AnyNetwork, maps: Maps) -> Made:
    x, rng = maps.one(), maps.rng
    kernel = (rng.choice((1, 1, 2, 3, 3, 5)), rng.choice((1, 1, 2, 3, 3, 5)))
    stride, dilation = rng.choice((1, 1, 1, 2, 3)), rng.choice((1, 1, 2))
    groups = rng.choice([n for n in (1, 1, 1, 2, 3) if x.channels % n == 0])
    reach = [(taps - 1) * dilation + 1 for taps in kernel]
    pads = tuple(rng.randint(0, size // 2) for size in (*reach, *reach))
    if any(length + pads[axis] + pads[axis + 2] < reach[axis] for axis, length in enumerate(x.size)):
        return None
    channels = groups * rng.randint(1, MOST_CHANNELS // groups)
    return net.conv(x, channels, kernel, stride, (pads[0], pads[1], pads[2], pads[3]), dilation, groups)


@layer("depthwise", also_old=True)
def _depthwise(net: AnyNetwork, maps: Maps) -> Made:
    rng = maps.rng
    return net.depthwise(maps.one(), rng.choice((1, 3, 3, 5)), rng.choice((1, 1, 2)), dilation=rng.choice((1, 1, 2)))


@layer("transposed", also_old=True)
def _transposed(net: AnyNetwork, maps: Maps) -> Made:
    x = maps.one()
    kernel = maps.rng.choice((2, 4))
    return net.transposed(x, maps.rng.randint(1, 16), kernel, 2) if x.size[0] * x.size[1] * 4 <= MOST_PIXELS else None


@layer("uneven transposed")
def _uneven_transposed(net: AnyNetwork, maps: Maps) -> Made:
    """A transposed convolution with different kernel, stride and pads on each side, surplus rows and columns, and groups."""
    x, rng = maps.one(), maps.rng
    kernel, stride = ([rng.randint(1, most) for _ in range(2)] for most in (4, 3))
    pads = [rng.randint(0, (taps - 1) // 2) for taps in (*kernel, *kernel)]
    surplus = [rng.randint(0, s - 1) for s in stride]
    groups = rng.choice([n for n in (1, 1, 2, 3) if x.channels % n == 0])
    size = [
        stride[n] * (x.size[n] - 1) + surplus[n] + kernel[n] - pads[n] - pads[n + 2] for n in range(2)
    ]  # fmt: skip
    if min(size) < 1 or size[0] * size[1] > MOST_PIXELS:
        return None
    each = rng.randint(1, 16 // groups)
    drawn = moments.weights(net._rng, (x.channels, each, *kernel), x.channels // groups * math.prod(kernel), x.moments)
    return net.op(
        "ConvTranspose", x, (x.shape[0], groups * each, *size), drawn, result=Moments(), kernel_shape=kernel, strides=stride,
        pads=pads, output_padding=surplus, group=groups,
    )  # fmt: skip


@layer("pool")
def _pooled(net: AnyNetwork, maps: Maps) -> Made:
    x, rng = maps.one(), maps.rng
    kernel, stride = rng.choice((2, 3)), rng.choice((1, 2, 3))
    pad = rng.choice((0, 0, 1))
    if min(x.size) + 2 * pad < kernel:
        return None
    pool = net.max_pool if rng.random() < 0.5 else net.average_pool
    # A last window that begins beyond the map counts in some versions of ONNX and not in others.
    return pool(x, kernel, stride, (pad,) * 4, ceil_mode=not pad and stride <= kernel and rng.random() < 0.5)


def _uneven_pool(kind: str) -> None:
    """Declares a pool with different kernel, stride, dilation and pads on each side; padding may count."""

    @layer(kind)
    def _pool(net: AnyNetwork, maps: Maps) -> Made:
        x, rng = maps.one(), maps.rng
        kernel, stride = ([rng.randint(1, 4) for _ in range(2)] for _ in range(2))
        dilation = [rng.choice((1, 1, 2)) if kind == "MaxPool" else 1 for _ in range(2)]
        reach = [(taps - 1) * d + 1 for taps, d in zip(kernel, dilation, strict=True)]
        pads = [rng.randint(0, taps - 1) for taps in (*kernel, *kernel)]
        room = [x.size[n] + pads[n] + pads[n + 2] - reach[n] for n in range(2)]
        # No window may lie in the padding alone: it would have nothing to average.
        if min(room) < 0 or any(max(pads[n], pads[n + 2]) >= min(reach[n], x.size[n]) for n in range(2)):
            return None
        more = {"dilations": dilation} if kind == "MaxPool" else {"count_include_pad": rng.randint(0, 1)}
        shape = (*x.shape[:2], *(room[n] // stride[n] + 1 for n in range(2)))
        return net.op(kind, x, shape, kernel_shape=kernel, strides=stride, pads=pads, **more)


for _kind in ("MaxPool", "AveragePool"):
    _uneven_pool(_kind)


@layer("global average", also_old=True)
def _global_average(net: AnyNetwork, maps: Maps) -> Made:
    return net.global_average(maps.one())


@layer("GlobalMaxPool", also_old=True)
def _global_max(net: AnyNetwork, maps: Maps) -> Made:
    x = maps.one()
    return net.op("GlobalMaxPool", x, (*x.shape[:2], 1, 1))


def _reduction(kind: str) -> None:
    @layer(kind)
    def _reduced(net: AnyNetwork, maps: Maps) -> Made:
        x, rng = maps.one(), maps.rng
        axes = rng.choice(((2, 3), (2, 3), (1,)))
        return net.reduced(kind, x, axes, True if axes == (1,) else rng.random() < 0.7)


for _kind in ("ReduceMean", "ReduceSum", "ReduceMax"):
    _reduction(_kind)


@layer("dense")
def _dense(net: AnyNetwork, maps: Maps) -> Made:
    return net.dense(maps.one(), maps.rng.randint(1, 40))


@layer("MatMul")
def _rows(net: AnyNetwork, maps: Maps) -> Made:
    """A dense layer on each pixel as a token, with channels last, and the map again in most cases."""
    x = maps.one()
    n, channels, rows, columns = x.shape
    tokens = net.transposed_to(net.reshaped(x, n, channels, rows * columns), 0, 2, 1)
    y = net.linear(tokens, maps.rng.randint(1, 40))
    return net.reshaped(net.transposed_to(y, 0, 2, 1), n, y.shape[-1], rows, columns) if maps.rng.random() < 0.7 else y


@layer("batch norm")
def _batch_norm(net: AnyNetwork, maps: Maps) -> Made:
    return net.batch_norm(maps.one())


@layer("gate")
def _gate(net: AnyNetwork, maps: Maps) -> Made:
    return net.gated(maps.one(), 8, hard=maps.rng.random() < 0.5)


@layer("upsample")
def _upsampled(net: AnyNetwork, maps: Maps) -> Made:
    x = maps.one()
    mode = maps.rng.choice(("nearest", "linear"))
    return net.upsample(x, 2, mode) if x.size[0] * x.size[1] * 4 <= MOST_PIXELS else None


@layer("Resize")
def _resized(net: AnyNetwork, maps: Maps) -> Made:
    """A map resized to any size by nearest neighbours in any of their modes, or linearly by whole factors."""
    x, rng = maps.one(), maps.rng
    if rng.random() < 0.6:
        size = tuple(rng.randint(1, 24) for _ in range(2))
        rule: dict[str, Any] = {
            "mode": "nearest", "nearest_mode": rng.choice(("floor", "ceil", "round_prefer_floor", "round_prefer_ceil")),
            "coordinate_transformation_mode": rng.choice(("asymmetric", "half_pixel", "pytorch_half_pixel", "align_corners")),
        }  # fmt: skip
    else:
        size = tuple(side * rng.randint(1, 3) for side in x.size)
        mode = rng.choice(("asymmetric", "half_pixel", "pytorch_half_pixel"))
        rule = {"mode": "linear", "coordinate_transformation_mode": mode}
    if size[0] * size[1] > MOST_PIXELS:
        return None
    return net.op("Resize", x, (*x.shape[:2], *size), None, None, np.array([*x.shape[:2], *size], np.int64), **rule)


@layer("Upsample")
def _upsample_of_old(net: AnyNetwork, maps: Maps) -> Made:
    """An Upsample, which only old operator sets have."""
    x, rng = maps.one(), maps.rng
    factors = (rng.randint(1, 3), rng.randint(1, 3))
    size = (x.size[0] * factors[0], x.size[1] * factors[1])
    if net.opset >= 10 or size[0] * size[1] > MOST_PIXELS:
        return None
    mode = rng.choice(("nearest", "linear"))
    return net.op("Upsample", x, (*x.shape[:2], *size), np.array([1, 1, *factors], np.float32), mode=mode)
