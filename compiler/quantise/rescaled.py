"""Products with a power of two beside products of two activations: the same integers at another scale, as attention divides."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace

from compiler.frontend.importer.values import Params
from compiler.frontend.model import Model, Node, scalar

_READERS = {"MatMul", "Softmax"}
"""Operators that take a tensor at whatever scale it comes."""
_MOVES = {"Transpose", "Reshape", "Flatten", "Squeeze", "Unsqueeze"}
Readers = Mapping[str, list[Node]]


def factor_of(model: Model, node: Node) -> float | None:
    """The power of two by which a product or a quotient multiplies, if it does."""
    constants = [model.constants[name] for name in node.inputs if name in model.constants]
    divides = node.op_type == "Div" and node.input(1) in model.constants
    if not (divides or node.op_type == "Mul") or len(constants) != 1 or constants[0].size != 1:
        return None
    number = float(scalar(constants[0]))
    if number <= 0 or math.frexp(number)[0] != 0.5:
        return None
    return 1 / number if divides else number


def moved(model: Model, name: str, readers: Readers) -> list[str] | None:
    """The tensor, and what only moves it; None, if anything but products and softmaxes reads any of them."""
    users = readers.get(name, [])
    found = [name]
    for user in users:
        behind = moved(model, user.output, readers) if user.op_type in _MOVES else []
        if user.op_type not in _READERS | _MOVES or behind is None:
            return None
        found += behind
    return found if users and name not in model.outputs else None


def ends(names: list[str], readers: Readers) -> list[Node]:
    """What reads them and does not only move them."""
    return [user for name in names for user in readers[name] if user.op_type in _READERS]


def with_rescaled(model: Model, nodes: list[Node], params: Mapping[str, Params], readers: Readers) -> dict[str, Params]:
    """The forms with those of the results of such nodes."""
    found = dict(params)
    for node in nodes:
        source = next(name for name in node.inputs if name not in model.constants)
        factor, names = factor_of(model, node), moved(model, node.output, readers)
        assert factor is not None
        assert names is not None
        found |= dict.fromkeys(names, replace(found[source], scale=found[source].scale * factor))
    return found
