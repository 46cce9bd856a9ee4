"""Random small networks: any layers in any order, maps of odd sizes that meet again, several inputs and outputs.

A recipe says what is drawn, so that a smaller one is still a network: a layer draws its own numbers, and takes its inputs from
whatever maps there are.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar

from onnx import ModelProto

from compiler.zoo.network import Value
from compiler.zoo.squeeze import GatedNetwork

MOST_LAYERS = 9
MOST_CHANNELS, MOST_PIXELS = 48, 4000
WIDE = 0.1
"""How many maps have rows that may have to be tiled in columns."""

_Found = TypeVar("_Found", Value, Value | None)


@dataclass(frozen=True)
class Layer:
    kind: str
    seed: int


@dataclass(frozen=True)
class Recipe:
    batch: int
    channels: int
    size: tuple[int, int]
    inputs: int
    layers: tuple[Layer, ...]


@dataclass(frozen=True)
class _Maps:
    """What layers choose from; maps of four dimensions first."""

    rng: random.Random
    values: tuple[Value, ...]

    def one(self) -> Value:
        """Late ones more often."""
        maps = [value for value in self.values if len(value.shape) == 4]
        return maps[-1 - int(len(maps) * self.rng.random() ** 2)]

    def like(self, x: Value) -> Value | None:
        """Another map of the same shape."""
        others = [value for value in self.values if value.shape == x.shape and value.name != x.name]
        return self.rng.choice(others) if others else None

    def beside(self, x: Value) -> Value | None:
        """Another map of the same size."""
        others = [v for v in self.values if len(v.shape) == 4 and v.size == x.size and v.name != x.name]
        return self.rng.choice(others) if others else None


Maker = Callable[[GatedNetwork, _Maps], Value | None]
"""None: the layer does not fit here."""


def random_recipe(seed: int) -> Recipe:
    rng = random.Random(f"model {seed}")
    rows, columns = rng.randint(3, 20), rng.randint(60, 400) if rng.random() < WIDE else rng.randint(3, 20)
    layers = [Layer(rng.choice([*MAKERS]), rng.getrandbits(32)) for _ in range(rng.randint(1, MOST_LAYERS))]
    return Recipe(rng.choice((1, 1, 1, 2, 3)), rng.randint(1, 20), (rows, columns), rng.choice((1, 1, 1, 2)), tuple(layers))


def build(recipe: Recipe) -> ModelProto:
    """What no layer reads is an output; an input that none reads meets a ReLU."""
    net = GatedNetwork("random", 0)
    inputs = tuple(net.image(recipe.batch, recipe.size, recipe.channels, f"x{n}") for n in range(recipe.inputs))
    values, read = inputs, set[str]()
    for number, layer in enumerate(recipe.layers):
        maps = _Reading(random.Random(layer.seed), values, set())
        with net.scope(f"layer{number}"):
            made = MAKERS[layer.kind](net, maps)
        if made is not None:
            read |= maps.read
            values += (made,)
    values += tuple(net.relu(x) for x in inputs if x.name not in read)
    read |= {x.name for x in inputs}
    return net.model(**{f"y{n}": v for n, v in enumerate(value for value in values if value.name not in read)})


@dataclass(frozen=True)
class _Reading(_Maps):
    """Remembers what was chosen."""

    read: set[str]

    def one(self) -> Value:
        return self._note(super().one())

    def like(self, x: Value) -> Value | None:
        return self._note(super().like(x))

    def beside(self, x: Value) -> Value | None:
        return self._note(super().beside(x))

    def _note(self, value: _Found) -> _Found:
        if value is not None:
            self.read.add(value.name)
        return value


def _conv(net: GatedNetwork, maps: _Maps) -> Value | None:
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


def _depthwise(net: GatedNetwork, maps: _Maps) -> Value:
    rng = maps.rng
    return net.depthwise(maps.one(), rng.choice((1, 3, 3, 5)), rng.choice((1, 1, 2)), dilation=rng.choice((1, 1, 2)))


def _transposed(net: GatedNetwork, maps: _Maps) -> Value | None:
    x = maps.one()
    kernel = maps.rng.choice((2, 4))
    return net.transposed(x, maps.rng.randint(1, 16), kernel, 2) if x.size[0] * x.size[1] * 4 <= MOST_PIXELS else None


def _pooled(net: GatedNetwork, maps: _Maps) -> Value | None:
    x, rng = maps.one(), maps.rng
    kernel, stride = rng.choice((2, 3)), rng.choice((1, 2, 3))
    pad = rng.choice((0, 0, 1))
    if min(x.size) + 2 * pad < kernel:
        return None
    pool = net.max_pool if rng.random() < 0.5 else net.average_pool
    # A last window that begins beyond the map is counted in some versions of ONNX and not in others.
    return pool(x, kernel, stride, (pad,) * 4, ceil_mode=not pad and stride <= kernel and rng.random() < 0.5)


def _add(net: GatedNetwork, maps: _Maps) -> Value | None:
    x = maps.one()
    other = maps.like(x)
    return None if other is None else net.add(x, other)


def _times(net: GatedNetwork, maps: _Maps) -> Value | None:
    x = maps.one()
    other = maps.like(x)
    return None if other is None else net.times(x, other)


def _concat(net: GatedNetwork, maps: _Maps) -> Value | None:
    x = maps.one()
    other = maps.beside(x)
    return None if other is None or x.channels + other.channels > 2 * MOST_CHANNELS else net.concat([x, other])


def _upsampled(net: GatedNetwork, maps: _Maps) -> Value | None:
    x = maps.one()
    mode = maps.rng.choice(("nearest", "linear"))
    return net.upsample(x, 2, mode) if x.size[0] * x.size[1] * 4 <= MOST_PIXELS else None


def _cropped(net: GatedNetwork, maps: _Maps) -> Value | None:
    x = maps.one()
    return net.crop_first(x) if min(x.size) > 1 else None


def _dense(net: GatedNetwork, maps: _Maps) -> Value:
    return net.dense(maps.one(), maps.rng.randint(1, 40))


MAKERS: dict[str, Maker] = {
    "conv": _conv, "another conv": _conv, "depthwise": _depthwise, "transposed": _transposed, "pool": _pooled, "add": _add,
    "times": _times, "concat": _concat, "upsample": _upsampled, "crop": _cropped, "dense": _dense,
    "batch norm": lambda net, maps: net.batch_norm(maps.one()), "relu": lambda net, maps: net.relu(maps.one()),
    "relu6": lambda net, maps: net.relu6(maps.one()), "leaky relu": lambda net, maps: net.leaky_relu(maps.one()),
    "silu": lambda net, maps: net.silu(maps.one()), "hard swish": lambda net, maps: net.hard_swish(maps.one()),
    "global average": lambda net, maps: net.global_average(maps.one()),
    "gate": lambda net, maps: net.gated(maps.one(), 8, hard=maps.rng.random() < 0.5),
}  # fmt: skip
