"""Random layers that move their operands: cuts, pads, other orders and shapes."""

from __future__ import annotations

import numpy as np

from compiler.zoo.random_layers import MOST_CHANNELS, MOST_PIXELS, AnyNetwork, Made, Maps, layer


@layer("crop")
def _cropped(net: AnyNetwork, maps: Maps) -> Made:
    x = maps.one()
    return net.crop_first(x) if min(x.size) > 1 else None


@layer("Slice")
def _sliced(net: AnyNetwork, maps: Maps) -> Made:
    """Any part of one side or of the channels, in steps."""
    x, rng = maps.one(), maps.rng
    axis = rng.choice((1, 2, 3))
    first = rng.randrange(x.shape[axis])
    end, step = rng.randint(first + 1, x.shape[axis]), rng.choice((1, 1, 2, 3))
    shape = tuple(-(-(end - first) // step) if n == axis else size for n, size in enumerate(x.shape))
    return net.op("Slice", x, shape, *(np.array([value], np.int64) for value in (first, end, axis, step)))


@layer("Split")
def _split(net: AnyNetwork, maps: Maps) -> Made:
    x = maps.one()
    first = maps.rng.randint(1, x.channels)
    return tuple(net.split(x, 1, [first, x.channels - first])) if first < x.channels else None


@layer("Pad")
def _padded(net: AnyNetwork, maps: Maps) -> Made:
    """A map padded with zeros, another number, or its edge."""
    x, rng = maps.one(), maps.rng
    mode = rng.choice(("constant", "constant", "reflect", "edge"))
    pads = [rng.randint(0, min(2, side - 1)) for side in (*x.size, *x.size)]
    channels = rng.choice((0, 0, 1)) if mode == "constant" else 0
    shape = (x.shape[0], x.channels + channels, x.size[0] + pads[0] + pads[2], x.size[1] + pads[1] + pads[3])
    bounds = np.array([0, 0, *pads[:2], 0, channels, *pads[2:]], np.int64)
    value = [rng.choice((0.0, 0.0, rng.uniform(-1, 1)))] if mode == "constant" else []
    return net.op("Pad", x, shape, bounds, *value, mode=mode)


@layer("joined rows")
def _joined(net: AnyNetwork, maps: Maps) -> Made:
    """Two maps joined along height or width."""
    x = maps.one()
    other = maps.like(x)
    if other is None or 2 * x.size[0] * x.size[1] > MOST_PIXELS:
        return None
    return net.joined_along([x, other], maps.rng.choice((2, 3)))


@layer("DepthToSpace")
def _depth_to_space(net: AnyNetwork, maps: Maps) -> Made:
    x = maps.one()
    if x.channels % 4 or 4 * x.size[0] * x.size[1] > MOST_PIXELS:
        return None
    shape = (x.shape[0], x.channels // 4, 2 * x.size[0], 2 * x.size[1])
    return net.op("DepthToSpace", x, shape, blocksize=2, mode=maps.rng.choice(("DCR", "CRD")))


@layer("SpaceToDepth")
def _space_to_depth(net: AnyNetwork, maps: Maps) -> Made:
    x = maps.one()
    if any(side % 2 for side in x.size) or 4 * x.channels > 2 * MOST_CHANNELS:
        return None
    return net.op("SpaceToDepth", x, (x.shape[0], 4 * x.channels, x.size[0] // 2, x.size[1] // 2), blocksize=2)


@layer("Transpose")
def _turned(net: AnyNetwork, maps: Maps) -> Made:
    """A map whose rows and columns change places, or whose channels go last and come back."""
    x, rng = maps.one(), maps.rng
    if rng.random() < 0.3:
        return net.transposed_to(x, 0, 1, 3, 2)
    return net.transposed_to(net.relu(net.transposed_to(x, 0, 2, 3, 1)), 0, 3, 1, 2)


@layer("Reshape")
def _shuffled(net: AnyNetwork, maps: Maps) -> Made:
    """A channel shuffle: two groups, one channel of each in turn."""
    x = maps.one()
    if x.channels % 2:
        return None
    n, channels, rows, columns = x.shape
    parts = net.transposed_to(net.reshaped(x, n, 2, channels // 2, rows, columns), 0, 2, 1, 3, 4)
    return net.reshaped(parts, n, channels, rows, columns)


@layer("Squeeze", "Unsqueeze")
def _squeezed(net: AnyNetwork, maps: Maps) -> Made:
    """The means of the channels as a vector, through a dense layer, and a map of one pixel again."""
    x = maps.one()
    axes = np.array([2, 3], np.int64)
    vector = net.op("Squeeze", net.global_average(x), x.shape[:2], axes)
    y = net.dense(vector, maps.rng.randint(1, 40))
    return net.op("Unsqueeze", y, (*y.shape, 1, 1), axes)


@layer("Flatten")
def _flattened(net: AnyNetwork, maps: Maps) -> Made:
    return net.relu(net.flatten(maps.one()))
