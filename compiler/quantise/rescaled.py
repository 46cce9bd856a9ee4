"""Products with a power of two beside products of two activations, as in attention: the same integers at another scale."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from compiler.frontend.importer.values import Params
from compiler.frontend.model import Model, Node, scalar

_READERS = {"MatMul", "Softmax"}
"""Operators that take a tensor at any scale."""
_MOVES = {"Transpose", "Reshape", "Flatten", "Squeeze", "Unsqueeze"}
ROUNDED = 1e-6
"""The relative distance from a power of two that the rounding of two float32 factors may cause."""
Readers = Mapping[str, list[Node]]


def factor_of(model: Model, node: Node) -> float | None:
    """The power of two by which a product or a quotient multiplies; None if it is no power of two."""
    constants = [model.constants[name] for name in node.inputs if name in model.constants]
    divides = node.op_type == "Div" and node.input(1) in model.constants
    if not (divides or node.op_type == "Mul") or len(constants) != 1 or constants[0].size != 1:
        return None
    number = float(scalar(constants[0]))
    if number <= 0 or math.frexp(number)[0] != 0.5:
        return None
    return 1 / number if divides else number


def moved(model: Model, name: str, readers: Readers) -> list[str] | None:
    """The tensor and what only moves it; None, if any of them is read by anything but products and softmaxes."""
    users = readers.get(name, [])
    found = [name]
    for user in users:
        behind = moved(model, user.output, readers) if user.op_type in _MOVES else []
        if user.op_type not in _READERS | _MOVES or behind is None:
            return None
        found += behind
    return found if users and name not in model.outputs else None


def ends(names: list[str], readers: Readers) -> list[Node]:
    """The nodes that read these tensors and do not only move them."""
    return [user for name in names for user in readers[name] if user.op_type in _READERS]


def with_rescaled(model: Model, nodes: list[Node], params: Mapping[str, Params], readers: Readers) -> dict[str, Params]:
    """The forms, with those of the results of such nodes added."""
    found = dict(params)
    for node in nodes:
        source = next(name for name in node.inputs if name not in model.constants)
        factor, names = factor_of(model, node), moved(model, node.output, readers)
        assert factor is not None
        assert names is not None
        found |= dict.fromkeys(names, replace(found[source], scale=found[source].scale * factor))
    return found


def with_factors_behind(model: Model) -> Model:
    """Replaces factors of both operands of a product that together are a power of two by one factor of its result.

    Attention divides queries and keys so, each by the fourth root of a head's size.
    """
    makers, readers = model.producers(), model.consumers()
    constants, renamed = dict(model.constants), dict[str, str]()
    gone, behind = set[str](), dict[str, list[Node]]()
    for node in model.nodes:
        scaled = [_scaled(model, makers, readers, name) for name in node.inputs] if node.op_type == "MatMul" else [None]
        found = [each for each in scaled if each is not None]
        number = math.prod(factor for _, _, factor in found)
        power = 2.0 ** round(math.log2(number)) if number > 0 else 0.0
        if len(found) != 2 or len(scaled) != 2 or abs(number - power) > ROUNDED * power:
            continue
        gone |= {scale.name for scale, _, _ in found}
        renamed |= {scale.output: source for scale, source, _ in found}
        plain, factor = f"{node.output}/plain", f"{node.output}/factor"
        constants[factor] = np.array(power, np.float32)
        product = replace(node, outputs=(plain,))
        behind[node.name] = [product, Node(factor, "Mul", (plain, factor), node.outputs)]
    if not gone:
        return model
    nodes = [each for node in model.nodes if node.name not in gone for each in behind.get(node.name, [node])]
    return model.with_nodes(
        [replace(node, inputs=tuple(renamed.get(name, name) for name in node.inputs)) for node in nodes], constants
    )


def _scaled(model: Model, makers: Mapping[str, Node], readers: Readers, name: str) -> tuple[Node, str, float] | None:
    """The node that multiplies a tensor by a number, perhaps before the tensor is moved, its operand, and the number."""
    maker = makers.get(name)
    if maker is None or len(readers[name]) != 1 or name in model.outputs:
        return None
    if maker.op_type in _MOVES:
        return _scaled(model, makers, readers, maker.inputs[0])
    numbers = [model.constants[each] for each in maker.inputs if each in model.constants]
    if maker.op_type != "Mul" or len(numbers) != 1 or numbers[0].size != 1:
        return None
    source = next(each for each in maker.inputs if each not in model.constants)
    return maker, source, float(scalar(numbers[0]))
