"""Random layers that compute each element by itself, or of two maps."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, TypeAlias

import numpy as np

from compiler.zoo.moments import Moments
from compiler.zoo.network import Value
from compiler.zoo.random_layers import MOST_CHANNELS, AnyNetwork, Made, Maps, layer

SIMPLE = (
    "Sigmoid", "Tanh", "Selu", "Softplus", "Softsign", "Erf", "Abs", "Neg", "Sin", "Cos", "Floor", "Ceil", "Round",
    "Sign", "Identity", "Dropout",
)  # fmt: skip
SLOPED = {"Elu": (0.3, 2.0), "Celu": (0.3, 2.0), "LeakyRelu": (0.01, 0.9), "ThresholdedRelu": (0.1, 1.0)}
"""Functions with one number, and the range of that number."""
YOUNG = {"Mish": 18, "Gelu": 20, "Swish": 24}
"""Functions that are younger than usual, and the operator set that brought each."""
POSITIVE = ("Log", "Sqrt", "Reciprocal")
"""Functions of numbers above 0; their input is a Sigmoid and a little more."""

Function: TypeAlias = Callable[[AnyNetwork, Value, Maps], Value]


def _positive(net: AnyNetwork, x: Value) -> Value:
    return net.op("Add", net.op("Sigmoid", x), None, 0.05)


def _declare(kind: str, make: Function, **options: Any) -> None:
    @layer(kind, **options)
    def _function(net: AnyNetwork, maps: Maps) -> Made:
        return make(net, maps.one(), maps)


def _simple(kind: str, spread: float) -> Function:
    return lambda net, x, maps: net.op(kind, x, result=Moments(0.3, spread))


def _with_alpha(kind: str, low: float, high: float) -> Function:
    return lambda net, x, maps: net.op(kind, x, alpha=maps.rng.uniform(low, high))


def _of_positive(kind: str) -> Function:
    return lambda net, x, maps: net.op(kind, _positive(net, x))


for _kind in SIMPLE:
    _declare(_kind, _simple(_kind, 0.5))
for _kind, (_low, _high) in SLOPED.items():
    _declare(_kind, _with_alpha(_kind, _low, _high))
for _kind, _opset in YOUNG.items():
    _declare(_kind, _simple(_kind, 0.6), least_opset=_opset)
for _kind in POSITIVE:
    _declare(_kind, _of_positive(_kind))

_declare("Exp", lambda net, x, maps: net.op("Exp", net.op("Clip", x, None, -5.0, 5.0)))
_declare("relu", lambda net, x, maps: net.relu(x), also_old=True)
_declare("relu6", lambda net, x, maps: net.relu6(x))
_declare("leaky relu", lambda net, x, maps: net.leaky_relu(x), also_old=True)
_declare("silu", lambda net, x, maps: net.silu(x))
_declare("hard swish", lambda net, x, maps: net.hard_swish(x))
_declare("HardSigmoid", lambda net, x, maps: net.op("HardSigmoid", x, alpha=maps.rng.uniform(0.1, 0.4), beta=0.5))
_declare("Cast", lambda net, x, maps: net.op("Cast", x, to=1))
_declare("gelu in parts", lambda net, x, maps: net.gelu(x))


@layer("Clip")
def _clipped(net: AnyNetwork, maps: Maps) -> Made:
    """A clamp between two numbers, or below or above one."""
    x, rng = maps.one(), maps.rng
    low, high = sorted((rng.uniform(-2, 2), rng.uniform(-2, 2)))
    bounds = rng.choice(((low, high), (low, None), (None, high)))
    return net.op("Clip", x, None, *(bounds if bounds[1] is not None else bounds[:1]))


@layer("PRelu")
def _sloped(net: AnyNetwork, maps: Maps) -> Made:
    """A PRelu with one slope, or one for each channel."""
    x, rng = maps.one(), maps.rng
    shape = rng.choice(((1,), (x.channels, 1, 1)))
    slopes = np.array([rng.uniform(0.05, 0.6) for _ in range(math.prod(shape))]).reshape(shape)
    return net.op("PRelu", x, None, slopes)


def _with_number(kind: str) -> None:
    """Declares a layer of a map and one number, or for some operators one number for each channel."""

    @layer(f"{kind} of a number")
    def _of_number(net: AnyNetwork, maps: Maps) -> Made:
        x, rng = maps.one(), maps.rng
        if kind == "Pow":
            exponent = rng.choice((2.0, 3.0, 0.5))
            return net.op("Pow", net.op("Sigmoid", x) if exponent < 1 else x, None, exponent)
        if kind in ("Add", "Sub", "Mul") and rng.random() < 0.4:
            return net.op(kind, x, None, np.array([rng.uniform(0.2, 1.5) for _ in range(x.channels)]).reshape(1, -1, 1, 1))
        return net.op(kind, x, None, rng.uniform(0.2, 2.0))


def _of_two(kind: str) -> None:
    """Declares a layer of two maps of one shape; if there is no other map, the second one is made of the first."""

    @layer(kind)
    def _of_maps(net: AnyNetwork, maps: Maps) -> Made:
        x = maps.one()
        other = maps.like(x) or net.relu(x)
        inputs = (x, other) if maps.rng.random() < 0.5 else (other, x)
        return net.op(kind, inputs, x.shape, result=Moments(0.0, 1.5))


for _kind in ("Div", "Pow", "Add", "Sub", "Mul", "Min", "Max"):
    _with_number(_kind)
for _kind in ("Sub", "Min", "Max", "Sum"):
    _of_two(_kind)


@layer("add", also_old=True)
def _add(net: AnyNetwork, maps: Maps) -> Made:
    x = maps.one()
    other = maps.like(x)
    return None if other is None else net.add(x, other)


@layer("times", also_old=True)
def _times(net: AnyNetwork, maps: Maps) -> Made:
    x = maps.one()
    other = maps.like(x)
    return None if other is None else net.times(x, other)


@layer("broadcast")
def _broadcast(net: AnyNetwork, maps: Maps) -> Made:
    """An operation of a map and one value for each of its channels, or for each of its pixels."""
    x, rng = maps.one(), maps.rng
    small = net.global_average(x) if rng.random() < 0.5 else net.reduced("ReduceMean", x, (1,), True)
    kind = rng.choice(("Add", "Sub", "Mul"))
    return net.op(kind, (x, small) if rng.random() < 0.7 else (small, x), x.shape)


@layer("concat", also_old=True)
def _concat(net: AnyNetwork, maps: Maps) -> Made:
    x = maps.one()
    other = maps.beside(x)
    return None if other is None or x.channels + other.channels > 2 * MOST_CHANNELS else net.concat([x, other])
