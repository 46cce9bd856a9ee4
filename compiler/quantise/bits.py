"""Which layers take weights of four bits: all, none, or as many as noise or bytes allow."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from compiler.frontend.model import Model, Node
from compiler.frontend.session import run_session, session
from compiler.quantise.emit import Weights, axis_of_outputs, linear_layers
from compiler.quantise.forms import Forms
from compiler.quantise.reference import showing
from compiler.quantise.rounding import MOST_INPUTS, error_share, nearest, places_of, rounded, steps_of
from compiler.quantise.statistics import CalibrationError, Feeds

Float64 = NDArray[np.float64]
Way = tuple[str, int]
"""The weights' name, and the axis of the outputs."""
LOSS = 1.0
"""The decibels that ``auto`` lets each output lose beside weights of eight bits."""
_AUTO = re.compile(r"auto(?::(?:(?P<noise>-?\d+(?:\.\d+)?)dB|(?P<size>\d+(?:\.\d+)?)(?P<unit>k|M|G)?B))?")
_UNITS = {None: 1, "k": 10**3, "M": 10**6, "G": 10**9}


@dataclass(frozen=True)
class Bits:
    """How many layers get weights of four bits.

    With ``everywhere`` all layers that can. Else as many as leave ``decibels`` at each output, or as bring the weights down to
    ``size`` bytes. With neither, as many as ``LOSS`` allows.
    """

    everywhere: bool = False
    decibels: float | None = None
    size: float | None = None


def bits_of(text: str) -> Bits | None:
    """The bits that the text asks for; None stands for eight bits."""
    found = _AUTO.fullmatch(text)
    if found:
        noise, size = found["noise"], found["size"]
        return Bits(
            decibels=float(noise) if noise else None, size=float(size) * _UNITS[found["unit"]] if size else None,
        )  # fmt: skip
    if text not in ("4", "8"):
        raise CalibrationError(f"bits of weights: {text!r} is unknown; choose one of 8, 4, auto, auto:30dB, auto:2MB")
    return Bits(everywhere=True) if text == "4" else None


@dataclass(frozen=True, eq=False)
class Narrow:
    """The weights of one layer in four bits: scales and whole numbers, as the model stores them.

    ``error`` is the squared error of the layer's outputs, as a share of their squares.
    """

    scale: NDArray[np.float32]
    whole: NDArray[np.int8]
    error: float


def narrowed(model: Model, forms: Forms, feeds: Sequence[Feeds]) -> dict[Way, Narrow]:
    """The weights in four bits of every layer for which the machine can hold them, in the order of the model."""
    linear = linear_layers(model, forms)
    layers = {(node.inputs[1], axis_of_outputs(node, form)): node for node, form in linear if _can(model, node)}
    products = _products(model, layers, feeds)
    found = {}
    for way in layers:
        values = model.constants[way[0]].astype(np.float64)
        rows = np.moveaxis(values, way[1], 0).reshape(values.shape[way[1]], -1)
        step = steps_of(rows)
        known = products.get(way)
        whole = nearest(rows, step) if known is None else rounded(rows, step, known)
        error = error_share(rows, whole * step[:, None], np.eye(rows.shape[1]) if known is None else known)
        shape = np.moveaxis(values, way[1], 0).shape
        stored = np.ascontiguousarray(np.moveaxis(whole.reshape(shape), 0, way[1]).astype(np.int8))
        found[way] = Narrow(step.astype(np.float32), stored, error)
    return found


def chosen(
    bits: Bits, model: Model, forms: Forms, found: Mapping[Way, Narrow], noise: Callable[[Mapping[Way, Narrow]], list[float]]
) -> dict[Way, Narrow]:
    """Chooses the layers that lose least; the first and the last layer come after all others.

    ``noise`` returns the decibels of each output when the weights of these layers have four bits.
    """
    if bits.everywhere:
        return dict(found)
    ways = list(found)
    ends = {*ways[:1], *ways[-1:]}
    ranked = sorted(ways, key=lambda way: (way in ends, found[way].error))

    def first(count: int) -> dict[Way, Narrow]:
        return {way: found[way] for way in ranked[:count]}

    if bits.size is not None:
        names = dict.fromkeys(node.inputs[1] for node, _ in linear_layers(model, forms))
        left = float(sum(model.constants[name].size for name in names))
        for count in range(len(ranked) + 1):
            if left - sum(found[way].whole.size / 2 for way in ranked[:count]) <= bits.size:
                return first(count)
        fewest = left - sum(each.whole.size / 2 for each in found.values())
        raise CalibrationError(
            f"bits of weights: {bits.size:.0f} bytes are asked for, expected {fewest:.0f} or more, what four bits take"
        )
    least = [each - LOSS if bits.decibels is None else bits.decibels for each in noise({})]
    low, high = 0, len(ranked)
    while low < high:
        middle = (low + high + 1) // 2
        met = all(here >= asked for here, asked in zip(noise(first(middle)), least, strict=True))
        low, high = (middle, high) if met else (low, middle - 1)
    return first(low)


def as_weights(layers: Mapping[Way, Narrow]) -> Weights:
    return {way: (each.scale, each.whole) for way, each in layers.items()}


def _can(model: Model, node: Node) -> bool:
    """Whether the machine can hold the weights in four bits. It stores those of depthwise layers elsewhere."""
    weights = model.constants[node.inputs[1]]
    return node.op_type != "Conv" or node.integer("group", 1) == 1 or weights.shape[1] > 1


def _products(model: Model, layers: Mapping[Way, Node], feeds: Sequence[Feeds]) -> dict[Way, Float64]:
    """The products of inputs with each other, summed over places and samples, for the layers whose rounding uses them."""
    asked = {
        way: node for way, node in layers.items()
        if model.constants[way[0]].size // model.constants[way[0]].shape[way[1]] <= MOST_INPUTS
        and node.integer("group", 1) == 1 and node.text("auto_pad", "NOTSET") == "NOTSET"
    }  # fmt: skip
    if not feeds or not asked:
        return {}
    names = list(dict.fromkeys(node.inputs[0] for node in asked.values()))
    made = [name for name in names if name not in model.inputs]
    loaded = session(showing(model, made), optimised=True) if made else None
    rng = np.random.default_rng(0)
    found = dict[Way, Float64]()
    for each in feeds:
        values = {**each, **(run_session(loaded, each, made) if loaded else {})}
        for way, node in asked.items():
            places = places_of(node, values[node.inputs[0]], model.constants[way[0]].shape[2:], rng)
            found[way] = found.get(way, 0.0) + places.T @ places
    return found
