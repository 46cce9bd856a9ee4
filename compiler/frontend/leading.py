"""Writes sums of five dimensions, the first of which is one, in four dimensions; attention in windows adds its masks so.

A Reshape puts a dimension of one in front. Then a constant is added to windows, heads, rows and columns. Another Reshape takes
the dimension away.
"""

from __future__ import annotations

from dataclasses import replace

from compiler.frontend.model import Array, Model, Node

_MOST = 4
"""The most dimensions of a tensor on the machine."""


def with_leading_ones_left_out(model: Model) -> Model:
    """The model without such Reshapes; the model itself, if it has no such sum."""
    readers, makers = model.consumers(), model.producers()
    constants: dict[str, Array] = dict(model.constants)
    put: dict[str, Node] = {}
    gone: set[str] = set()
    for node in model.nodes:
        shape = model.shape(node.output)
        if node.op_type != "Add" or node.domain or shape is None or len(shape) != _MOST + 1 or shape[0] != 1:
            continue
        added = next((name for name in node.inputs if name in model.constants), None)
        before = next((makers[name] for name in node.inputs if name in makers), None)
        behind = readers.get(node.output, [])
        if added is None or before is None or before.op_type != "Reshape" or node.output in model.outputs or len(behind) != 1:
            continue
        last = behind[0]
        if last.op_type != "Reshape" or not model.shape(before.inputs[0]) == model.shape(last.output) == shape[1:]:
            continue
        small = f"{node.output}/{added}"
        value = model.constants[added]
        constants[small] = value.reshape(value.shape[1:]) if value.ndim > _MOST else value
        put[node.name] = replace(node, inputs=(before.inputs[0], small), outputs=last.outputs)
        gone.add(last.name)
    if not put:
        return model
    return model.with_nodes([put.get(node.name, node) for node in model.nodes if node.name not in gone], constants)
