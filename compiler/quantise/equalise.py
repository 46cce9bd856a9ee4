"""Equalisation of channels: a layer's results are divided by a factor for each channel, and the next layers multiply by it.

One scale for a whole tensor is then as fine for quiet channels as for loud ones. Between the layers there may be nodes that a
positive factor passes through: ReLU and its kin, pools, sums, products with a gate. Tensors that such nodes link have the same
factors; they are a class. The factors of a class are ``reach ** a``. The exponent ``a`` is the one with the least expected
noise in the layers that read the class. Rounding of activations makes less noise the nearer the channels are to each other.
Rounding of weights makes more noise where quiet channels are raised.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from compiler.frontend.model import Array, Model, Node
from compiler.quantise.statistics import Statistics

Float64 = NDArray[np.float64]
Factors = Mapping[str, Float64]
"""A factor for each channel, by tensor."""
PLAIN: Factors = {}
LAYERS = {"Conv", "Gemm"}
PASSING = {"Relu", "LeakyRelu", "MaxPool", "AveragePool", "GlobalAveragePool", "Identity", "Dropout"}
POWERS = (0.0, 0.25, 0.5, 0.75, 1.0)
LEAST_FACTOR = 2.0**-6
FEWEST_VALUES = 256
"""The fewest values of a channel that equalise it; with fewer, other inputs reach further than what is known."""


@dataclass
class Class:
    """Tensors with the same factors, the layers that make them and the layers that read them."""

    tensors: set[str]
    makers: list[Node] = field(default_factory=list)
    readers: list[Node] = field(default_factory=list)


def equalised(model: Model, statistics: Mapping[str, Statistics]) -> tuple[Model, Factors]:
    """A model of the same function with equalised channels, and the factors by which these are divided.

    The model is the same object if nothing is gained.
    """
    constants: dict[str, Array] = dict(model.constants)
    nodes = {node.name: node for node in model.nodes}
    divided = dict[str, Float64]()
    for each in classes_of(model):
        factors = factors_of(each, nodes, constants, statistics)
        if factors is None:
            continue
        divided |= dict.fromkeys(each.tensors, factors)
        for node in each.makers:
            _put(nodes, constants, nodes[node.name], 1 / factors, outputs=True)
        for node in each.readers:
            _put(nodes, constants, nodes[node.name], factors, outputs=False)
    return (model.with_nodes([nodes[node.name] for node in model.nodes], constants) if divided else model), divided


def multiplied(values: Array, factors: Float64 | None) -> Array:
    """Values times the factors that their channels were divided by."""
    return values if factors is None else values * factors.reshape(-1, *(1,) * (values.ndim - 2))


def classes_of(model: Model) -> list[Class]:
    """The classes whose makers and readers can all take a factor."""
    root: dict[str, str] = {}

    def find(name: str) -> str:
        while root.setdefault(name, name) != name:
            name = root[name]
        return name

    spoilt: set[str] = {*model.inputs, *model.outputs}
    links: list[tuple[str, ...]] = [_linked(model, node) for node in model.nodes]
    for node, linked in zip(model.nodes, links, strict=True):
        for name in linked[1:]:
            root[find(name)] = find(linked[0])
        layer = node.op_type in LAYERS and node.inputs[1] in model.constants and _constant_bias(model, node)
        if not layer:
            spoilt.update(name for name in (*node.reads(), *node.outputs) if name not in linked)
    table: dict[str, Class] = {}
    for name in dict.fromkeys(name for node in model.nodes for name in (*node.reads(), *node.outputs)):
        if name not in model.constants:
            table.setdefault(find(name), Class(set())).tensors.add(name)
    for node in model.nodes:
        if node.op_type in LAYERS:
            table[find(node.output)].makers.append(node)
            table[find(node.inputs[0])].readers.append(node)
    return [each for each in table.values() if each.makers and each.readers and not each.tensors & spoilt]


def _constant_bias(model: Model, node: Node) -> bool:
    return not node.input(2) or node.input(2) in model.constants


def _linked(model: Model, node: Node) -> tuple[str, ...]:
    """The activations of a node that must have the same factors."""
    shapes = {name: model.shape(name) or () for name in (*node.reads(), *node.outputs)}
    source = node.input(0)
    if node.op_type in PASSING and len(node.outputs) == 1:
        return source, node.output
    if node.op_type == "PRelu" and node.inputs[1] in model.constants:
        return source, node.output
    if node.op_type == "Pad" and node.text("mode", "constant") == "constant" and not node.input(2):
        return source, node.output
    if node.op_type in ("Reshape", "Flatten", "Squeeze") and shapes[source][:2] == shapes[node.output][:2]:
        after = shapes[node.output][2:]
        return (source, node.output) if np.prod(after) == np.prod(shapes[source][2:]) else ()
    if node.op_type == "Add" and len({shapes[name] for name in (*node.inputs, node.output)}) == 1:
        return (*node.inputs, node.output) if not any(name in model.constants for name in node.inputs) else ()
    if node.op_type == "Mul" and not any(name in model.constants for name in node.inputs):
        gated = [name for name in node.inputs if shapes[name] == shapes[node.output]]
        return (gated[0], node.output) if len(gated) == 1 else ()
    return ()


def factors_of(
    each: Class, nodes: Mapping[str, Node], constants: Mapping[str, Array], statistics: Mapping[str, Statistics]
) -> Float64 | None:  # fmt: skip
    """The factors of a class; None if nothing is gained."""
    found = [statistics[name].channels for name in sorted(each.tensors) if name in statistics]
    known = [channels for channels in found if channels is not None and channels.count >= FEWEST_VALUES]
    if not known or len({len(channels.reach) for channels in known}) != 1:
        return None
    relative = [channels.reach / max(float(channels.reach.max()), 1e-30) for channels in known]
    reach: Float64 = np.max(relative, axis=0)
    power: Float64 = np.max([c.squares / max(float(c.reach.max()), 1e-30) ** 2 for c in known], axis=0)
    reach = np.where(reach > 0, np.maximum(reach, LEAST_FACTOR), 1.0)
    tried = {a: reach**a for a in POWERS}
    expected = {
        a: sum(_noise(nodes[node.name], constants, reach, power, factors) for node in each.readers)
        for a, factors in tried.items()
    }
    best = min(expected, key=lambda a: expected[a])
    return tried[best] if best else None


def _noise(node: Node, constants: Mapping[str, Array], reach: Float64, power: Float64, factors: Float64) -> float:
    """The expected noise in a layer's result as a share of its signal, from the steps of activations and of weights."""
    weights = _by_channel(node, constants[node.inputs[1]])
    step = float((reach / factors).max()) / 127
    squares = np.square(weights).sum(axis=3)
    signal = float((squares * power.reshape(weights.shape[0], 1, -1)).sum())
    grouped = factors.reshape(weights.shape[0], 1, -1)
    scaled = weights * grouped[..., None]
    of_activations = step**2 / 12 * float(np.square(scaled).sum())
    steps = np.abs(scaled).max(axis=(2, 3)) / 127
    taps = weights.shape[3]
    loud = (power / factors**2).reshape(weights.shape[0], 1, -1).sum(axis=2) * taps
    return (of_activations + float((steps**2 / 12 * loud).sum())) / max(signal, 1e-30)


def _by_channel(node: Node, weights: Array) -> Float64:
    """The weights as an array of group, output, input and tap."""
    if node.op_type == "Gemm":
        matrix = weights if node.integer("transB", 0) else weights.T
        return matrix.astype(np.float64)[None, :, :, None]
    groups = node.integer("group", 1)
    return weights.astype(np.float64).reshape(groups, weights.shape[0] // groups, weights.shape[1], -1)


def _put(nodes: dict[str, Node], constants: dict[str, Array], node: Node, factors: Float64, outputs: bool) -> None:
    """Replaces the layer by one whose weights for its outputs, or for its inputs, are multiplied by the factors."""
    weights = constants[node.inputs[1]]
    if node.op_type == "Gemm":
        along = outputs == bool(node.integer("transB", 0))
        scaled = weights * (factors[:, None] if along else factors)
    elif outputs:
        scaled = weights * factors.reshape(-1, *(1,) * (weights.ndim - 1))
    else:
        groups = node.integer("group", 1)
        per = weights.shape[0] // groups
        rows = np.repeat(factors.reshape(groups, -1), per, axis=0)
        scaled = weights * rows.reshape(*rows.shape, *(1,) * (weights.ndim - 2))
    names = [f"{node.output}/equalised"]
    constants[names[0]] = scaled.astype(np.float32)
    if node.input(2):
        bias = constants[node.inputs[2]]
        names.append(f"{node.output}/bias equalised" if outputs else node.inputs[2])
        if outputs:
            constants[names[1]] = (np.broadcast_to(bias.reshape(-1), len(factors)) * factors).astype(np.float32)
    nodes[node.name] = replace(node, inputs=(node.inputs[0], *names))
