"""Gives a model that fixes its batch another batch, if every node treats the images of a batch alike."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

import numpy as np

from compiler.frontend.errors import ModelError
from compiler.frontend.model import Array, Model, Node, TensorType
from compiler.frontend.session import RuntimeRefusal
from compiler.frontend.types import with_types

_SHAPES = {"Reshape": 1, "Resize": 3, "Expand": 1}
"""The input of each operator that is a whole shape."""
_ACROSS = {
    "Concat": None, "Split": 0, "Gather": 0, "GatherElements": 0, "ScatterElements": 0, "ArgMax": 0, "ArgMin": 0, "TopK": -1,
    "Softmax": -1, "LogSoftmax": -1, "Hardmax": -1, "LpNormalization": -1, "OneHot": -1,
}  # fmt: skip
"""The axis that an operator along one dimension has if none is named; along the first one it would mix images."""


def rebatched(model: Model, batch: int) -> Model:
    """The model with another batch. Every tensor that depends on an input must begin with the batch, before and afterwards.

    ``model`` has its types.
    """
    sizes = {name: (model.shape(name) or (0,))[0] for name in model.inputs}
    name, old = next(iter(sizes.items()))
    if len(set(sizes.values())) > 1:
        raise _refusal(name, old, batch, f"inputs begin with {', '.join(map(str, sizes.values()))}")
    constants = dict(model.constants)
    nodes = tuple(_reshaped(node, constants, old, batch) for node in model.nodes)
    inputs = {n: TensorType(model.elem(n), (batch, *(model.shape(n) or ())[1:])) for n in model.inputs}
    wanted = replace(model.with_nodes(nodes, constants), types={**model.types, **inputs})
    try:
        wide = with_types(wanted)
    except RuntimeRefusal as refusal:
        raise _refusal(name, old, batch, str(refusal)) from None
    for node in _behind(wide.nodes, wide.inputs):
        rank = len(wide.shape(node.inputs[0]) or ())
        usual = _ACROSS.get(node.op_type, 1)
        if node.op_type in _ACROSS and rank and node.integer("axis", 0 if usual is None else usual) % rank == 0:
            raise _refusal(name, old, batch, f"node {node.name} ({node.op_type}) works across the images")
        for made in filter(None, node.outputs):
            before, after = model.shape(made), wide.shape(made)
            if not before or after != (before[0] // old * batch, *before[1:]) or before[0] % old:
                found = "unknown" if after is None else list(after)
                raise _refusal(
                    name, old, batch, f"node {node.name} ({node.op_type}) makes a tensor of shape {found} of a batch of {batch}"
                )
    return wide


def _behind(nodes: Iterable[Node], inputs: Iterable[str]) -> Iterable[Node]:
    """The nodes that depend on inputs of the model."""
    reached = set(inputs)
    for node in nodes:
        if not reached.isdisjoint(node.reads()):
            reached.update(node.outputs)
            yield node


def _reshaped(node: Node, constants: dict[str, Array], old: int, batch: int) -> Node:
    """The node with the new batch in the shape that it reads."""
    place = _SHAPES.get(node.op_type)
    value = constants.get(node.input(place)) if place else None
    if place is None or value is None or value.ndim != 1 or not value.size or int(value[0]) != old:
        return node
    name = f"{node.output}/shape"
    while name in constants:
        name += "'"
    constants[name] = np.concatenate([[batch], value[1:]]).astype(value.dtype)
    return replace(node, inputs=tuple(name if i == place else n for i, n in enumerate(node.inputs)))


def _refusal(name: str, old: int, batch: int, why: str) -> ModelError:
    return ModelError(
        f"input {name}: the model fixes a batch of {old}, and it cannot be {batch}: {why}; export the model with a free first "
        "dimension, or name no batch"
    )
