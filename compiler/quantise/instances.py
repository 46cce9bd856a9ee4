"""Instance and group normalisation as normalisation of rows: a row has the pixels of a channel or of a group of channels."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np

from compiler.frontend.model import Array, Model, Node, TensorType
from isa.checks import MAX_ROW


def as_rows(model: Model) -> Model:
    """Replaces such nodes by normalisations of rows, then a product and a sum with a number for each channel.

    A node whose rows are longer than those of ROW stays as it is.
    """
    nodes: list[Node] = []
    constants: dict[str, Array] = dict(model.constants)
    types = dict(model.types)
    for node in model.nodes:
        shape = model.shape(node.input(0))
        groups = _groups(node, shape)
        if shape is None or not groups or not all(name in constants for name in node.inputs[1:3]):
            nodes.append(node)
            continue
        length = math.prod(shape[1:]) // groups
        factors = [constants[name].reshape(-1) for name in node.inputs[1:3]]
        if length > MAX_ROW or any(value.size not in (groups, shape[1]) for value in factors):
            nodes.append(node)
            continue
        name, elem = node.output, model.elem(node.output)
        rows, made, back, scaled = (f"{name}/{what}" for what in ("rows", "made", "back", "scaled"))
        types |= {rows: TensorType(elem, (shape[0], groups, length)), made: TensorType(elem, (shape[0], groups, length))}
        types |= {back: TensorType(elem, shape), scaled: TensorType(elem, shape)}
        constants[f"{rows}/shape"] = np.array([shape[0], groups, length], np.int64)
        constants[f"{back}/shape"] = np.array(shape, np.int64)
        constants[f"{made}/ones"] = np.ones(length, np.float32)
        by_channel = (shape[1], *(1,) * (len(shape) - 2))
        for what, value in zip(("factor", "offset"), factors, strict=True):
            constants[f"{name}/{what}"] = np.repeat(value, shape[1] // value.size).reshape(by_channel)
        epsilon = {"axis": -1, "epsilon": float(node.attributes.get("epsilon", 1e-5))}
        plain = (factors[0] == 1).all() and not factors[1].any()
        nodes += [
            Node(rows, "Reshape", (node.inputs[0], f"{rows}/shape"), (rows,)),
            Node(node.name, "LayerNormalization", (rows, f"{made}/ones"), (made,), epsilon),
            Node(back, "Reshape", (made, f"{back}/shape"), (name if plain else back,)),
        ]
        if not plain:
            nodes.append(Node(scaled, "Mul", (back, f"{name}/factor"), (scaled,)))
            nodes.append(Node(f"{name}/shifted", "Add", (scaled, f"{name}/offset"), (name,)))
    return replace(model, types=types).with_nodes(nodes, constants)


def _groups(node: Node, shape: tuple[int, ...] | None) -> int:
    """The number of rows in an image; 0 if the node is no such normalisation."""
    if shape is None or len(shape) < 3 or node.domain or any(node.outputs[1:]):
        return 0
    return {"InstanceNormalization": shape[1], "GroupNormalization": node.integer("num_groups", 0)}.get(node.op_type, 0)
