"""Nodes that change nothing: casts to the same type, shapes and orders that stay, sums of one tensor, pads of nothing."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from compiler.frontend.folding import without_identities
from compiler.frontend.model import Model, Node


def without_idle_nodes(model: Model) -> Model:
    """The model without idle nodes, with the same function; they become Identity, and are removed as such. It has its types."""
    nodes = [
        Node(node.name, "Identity", (node.inputs[kept],), node.outputs)
        if (kept := _passed_on(model, node)) is not None
        else node
        for node in model.nodes
    ]  # fmt: skip
    same = all(a is b for a, b in zip(nodes, model.nodes, strict=True))
    return model if same else without_identities(replace(model, nodes=tuple(nodes)))


def _passed_on(model: Model, node: Node) -> int | None:
    """The place of the input that is the node's result, if the node changes nothing."""
    rule = _RULES.get(node.op_type) if not node.domain and len(node.outputs) == 1 else None
    found = rule(model, node) if rule else None
    if found is None or model.elem(node.inputs[found]) != model.elem(node.output):
        return None
    return found


def _cast(model: Model, node: Node) -> int | None:
    return 0 if model.elem(node.inputs[0]) == node.integer("to", 0) else None


def _shape(model: Model, node: Node) -> int | None:
    """The place of the input, if the operator only changes a shape or repeats values, and the shape stays."""
    before, after = model.shape(node.inputs[0]), model.shape(node.output)
    return 0 if before is not None and before == after else None


def _order(_: Model, node: Node) -> int | None:
    perm = node.integers("perm", ())
    return 0 if perm and perm == tuple(range(len(perm))) else None


def _alone(_: Model, node: Node) -> int | None:
    return 0 if len(node.inputs) == 1 else None


def _pad(model: Model, node: Node) -> int | None:
    pads = model.constants.get(node.input(1))
    return 0 if pads is not None and not pads.any() else None


def _bound(model: Model, node: Node) -> int | None:
    """The place of the tensor in its maximum with minus infinity, or in its minimum with infinity."""
    endless = -np.inf if node.op_type == "Max" else np.inf
    for place in (0, 1) if len(node.inputs) == 2 else ():
        value = model.constants.get(node.inputs[1 - place])
        if value is not None and (value == endless).all() and model.shape(node.inputs[place]) == model.shape(node.output):
            return place if model.shape(node.output) is not None else None
    return None


_RULES: dict[str, Callable[[Model, Node], int | None]] = {
    "Cast": _cast, **dict.fromkeys(("Reshape", "Expand", "Squeeze", "Unsqueeze", "Flatten"), _shape), "Transpose": _order,
    **dict.fromkeys(("Concat", "Sum"), _alone), "Pad": _pad, "Max": _bound, "Min": _bound,
}  # fmt: skip
