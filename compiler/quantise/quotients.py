"""Replaces quotients by one number for each row, as in linear attention, by products with its reciprocal, which is a table."""

from __future__ import annotations

from dataclasses import replace

from compiler.frontend.model import Model, Node, TensorType


def with_reciprocals(model: Model) -> Model:
    """A Div of two activations becomes Reciprocal and Mul, if the second one is broadcast along the last dimension."""
    nodes: list[Node] = []
    types = dict(model.types)
    for node in model.nodes:
        shapes = [model.shape(name) or () for name in node.inputs]
        activations = not any(name in model.constants for name in node.inputs)
        if node.op_type != "Div" or node.domain or not activations or not _by_row(*shapes):
            nodes.append(node)
            continue
        turned = f"{node.output}/reciprocal"
        types[turned] = TensorType(model.elem(node.inputs[1]), shapes[1])
        nodes.append(Node(turned, "Reciprocal", node.inputs[1:], (turned,)))
        nodes.append(Node(node.name, "Mul", (node.inputs[0], turned), node.outputs))
    return replace(model, types=types).with_nodes(nodes, model.constants)


def _by_row(whole: tuple[int, ...], divisor: tuple[int, ...]) -> bool:
    return len(whole) == len(divisor) and divisor[-1:] == (1,) and whole[:-1] == divisor[:-1] and whole[-1:] > (1,)
