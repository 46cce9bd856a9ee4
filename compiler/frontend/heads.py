"""Parts of a tensor that has five dimensions in between, as models often write queries, keys and values of attention.

One product makes all three. A Reshape gives each part, head and feature a dimension, and a Transpose orders them. Gather, Split
or Slice takes out each part. The same parts are slices of the product's features, in four dimensions.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

import numpy as np

from compiler.frontend.model import Array, Model, Node, TensorType, scalar

MOST_DIMENSIONS = 4
"""The most dimensions of a tensor on the machine."""


def with_parts_sliced_first(model: Model) -> Model:
    """The model with such parts sliced before they get dimensions; the model itself, if it has no such tensor.

    ``model`` has its types, and operator set 13 or a later one.
    """
    readers = model.consumers()
    gone: set[str] = set()
    made: dict[str, list[Node]] = {}
    constants: dict[str, Array] = dict(model.constants)
    types = dict(model.types)
    for node in model.nodes:
        before, after = model.shape(node.input(0)), model.shape(node.output)
        if node.op_type != "Reshape" or before is None or after is None or len(after) <= MOST_DIMENSIONS:
            continue
        axis = len(before) - 1
        if not before or after[:axis] != before[:-1] or len(after) < axis + 2:
            continue
        found = _parts(model, readers, node.output, axis)
        if found is None:
            continue
        order, parts, between = found
        size = math.prod(after[axis + 1 :])
        shape = (*after[:axis], *after[axis + 1 :])
        elem = model.elem(node.output)
        nodes = made.setdefault(node.name, [])
        for index, name in parts:
            part, heads = f"{name}/part", f"{name}/heads" if order else name
            bounds = {"from": [index * size], "to": [(index + 1) * size], "axis": [axis]}
            constants |= {f"{part}/{what}": np.array(value, np.int64) for what, value in bounds.items()}
            constants[f"{heads}/shape"] = np.array(shape, np.int64)
            nodes += [
                Node(part, "Slice", (node.inputs[0], *(f"{part}/{what}" for what in bounds)), (part,)),
                Node(f"{name}/Reshape", "Reshape", (part, f"{heads}/shape"), (heads,)),
            ]
            types |= {part: TensorType(elem, (*before[:-1], size)), heads: TensorType(elem, shape)}
            if order:
                nodes.append(Node(f"{name}/Transpose", "Transpose", (heads,), (name,), {"perm": order}))
        gone |= between
    if not made:
        return model
    kept = [each for node in model.nodes for each in made.get(node.name, [node]) if each.name not in gone]
    return replace(model, types=types).with_nodes(kept, constants)


Part = tuple[int, str]
"""An index of the dimension, and the tensor at this index, which lacks the dimension."""


def _parts(
    model: Model, readers: Mapping[str, Sequence[Node]], name: str, axis: int
) -> tuple[tuple[int, ...], list[Part], set[str]] | None:
    """The order of the dimensions that are left, all parts that are taken out, and the nodes that do it.

    An empty order leaves the dimensions as they are.
    """
    order: tuple[int, ...] = ()
    between = set[str]()
    users = readers.get(name, ())
    if len(users) == 1 and users[0].op_type == "Transpose" and name not in model.outputs:
        node = users[0]
        perm = node.integers("perm", [*reversed(range(len(model.shape(name) or ())))])
        order = tuple(place - (place > axis) for place in perm if place != axis)
        between.add(node.name)
        name, axis, users = node.output, perm.index(axis), readers.get(node.output, ())
    if name in model.outputs or not users:
        return None
    parts: list[Part] = []
    for user in users:
        taken = [*_taken(model, readers, user, axis, between)]
        if not taken:
            return None
        parts += taken
        between.add(user.name)
    return order, parts, between


def _taken(
    model: Model, readers: Mapping[str, Sequence[Node]], node: Node, axis: int, between: set[str]
) -> Iterator[Part]:
    """The parts that a node takes out along a dimension, one index each; nothing, if it does anything else."""
    rank = len(model.shape(node.inputs[0]) or ())
    if node.op_type == "Gather":
        index = model.constants.get(node.input(1))
        if index is not None and index.ndim == 0 and node.integer("axis", 0) % rank == axis:
            yield int(index) % (model.shape(node.inputs[0]) or ())[axis], node.output
        return
    single: list[tuple[int, str]] = []
    if node.op_type == "Split" and node.integer("axis", 0) % rank == axis:
        single = [*enumerate(node.outputs)]
    elif node.op_type == "Slice":
        start, along = (model.constants.get(node.input(place)) for place in (1, 3))
        if start is not None and along is not None and start.size == along.size == 1 and scalar(along) % rank == axis:
            single = [(int(scalar(start)) % (model.shape(node.inputs[0]) or ())[axis], node.output)]
    squeezed = [_squeezed(model, readers, name, axis) for _, name in single]
    if single and all(each is not None for each in squeezed):
        for (place, _), each in zip(single, squeezed, strict=True):
            assert each is not None
            between.add(each.name)
            yield place, each.output


def _squeezed(model: Model, readers: Mapping[str, Sequence[Node]], name: str, axis: int) -> Node | None:
    """The only reader of a tensor, if it removes this dimension of size one."""
    shape, users = model.shape(name), readers.get(name, ())
    if shape is None or shape[axis] != 1 or len(users) != 1 or name in model.outputs:
        return None
    without = model.shape(users[0].output)
    return users[0] if users[0].op_type in ("Squeeze", "Reshape") and without == (*shape[:axis], *shape[axis + 1 :]) else None
