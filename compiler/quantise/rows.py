"""Writes dense layers on more than two dimensions as dense layers on rows."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np

from compiler.frontend.model import Array, Model, Node, TensorType


def on_rows(model: Model) -> Model:
    """A product with a constant matrix becomes Reshape, Gemm and Reshape. Gemm has a bias, and an integer kernel with one.

    Products of one tensor share the Reshape before them.
    """
    nodes: list[Node] = []
    constants: dict[str, Array] = dict(model.constants)
    types = dict(model.types)
    rows: dict[str, str] = {}
    for node in model.nodes:
        shape, out = model.shape(node.input(0)), model.shape(node.output)
        weights = model.constants.get(node.input(1))
        plain = node.op_type == "MatMul" and not node.domain and weights is not None and weights.ndim == 2
        if not plain or shape is None or out is None or len(shape) < 3 or node.inputs[0] in constants:
            nodes.append(node)
            continue
        assert weights is not None
        elem = model.elem(node.output)
        source, count = node.inputs[0], math.prod(shape[:-1])
        if source not in rows:
            rows[source] = f"{source}/rows"
            types[rows[source]] = TensorType(elem, (count, shape[-1]))
            constants[f"{source}/rows_shape"] = np.array([count, shape[-1]], np.int64)
            nodes.append(Node(f"{source}/rows", "Reshape", (source, f"{source}/rows_shape"), (rows[source],)))
        made, back = f"{node.output}/rows_made", f"{node.output}/shape"
        types[made] = TensorType(elem, (count, weights.shape[1]))
        constants[back] = np.array(out, np.int64)
        nodes.append(Node(node.name, "Gemm", (rows[source], node.inputs[1]), (made,)))
        nodes.append(Node(f"{node.name}/back", "Reshape", (made, back), (node.output,)))
    return replace(model, nodes=tuple(nodes), constants=constants, types=types)
