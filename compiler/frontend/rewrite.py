"""Replaces nodes of a model one by one by others with the same function."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from compiler.frontend.model import Array, Model, Node, TensorType


@dataclass(frozen=True, eq=False)
class Replacement:
    """Nodes in the place of one, with their constants and the known types of their tensors."""

    nodes: Sequence[Node]
    constants: Mapping[str, Array]
    types: Mapping[str, TensorType] = field(default_factory=dict)


def rewritten(model: Model, rule: Callable[[Model, Node], Replacement | None]) -> Model:
    """The model with the nodes that the rule replaces; the model itself, if it replaces none."""
    nodes: list[Node] = []
    constants: dict[str, Array] = dict(model.constants)
    types = dict(model.types)
    changed = False
    for node in model.nodes:
        found = rule(model, node)
        if found is None:
            nodes.append(node)
            continue
        changed = True
        nodes += found.nodes
        constants |= found.constants
        types |= found.types
    return replace(model, types=types).with_nodes(nodes, constants) if changed else model
