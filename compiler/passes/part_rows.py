"""Keeps heads of attention apart: operations on their joined rows work on each part, if only the parts are read again.

Their second operands, such as masks and positions, are cut, too. A constant is cut into the same rows; one number for each
channel serves all parts.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from compiler.passes.rewrite import sole_reader, with_inputs
from compiler.xgraph.graph import XGraph
from compiler.xgraph.ops import Concat, Constant, Eltwise, Op, Slice
from compiler.xgraph.products import Product
from compiler.xgraph.row_operations import Softmax
from compiler.xgraph.tensor import Tensor

_ROWS = 1
PARTS = "/part"
"""Stands between an operation's name and the number of its part. The first part has the name alone."""
MOST_PARTS = 32
"""The most parts for which a second operand is cut. Windows of attention are more; they stay joined if there is one."""


def whole_of(name: str) -> str:
    """The name of the whole operation of which the one of this name is a part. It is the same name if it is no part."""
    return re.sub(rf"{PARTS}\d+$", "", name)


def part_rows(graph: XGraph) -> XGraph:
    """Lets softmaxes and functions of joined products work on each part, if only the parts of the result are read."""
    gone: set[str] = set()
    put: dict[str, list[Op]] = {}
    tensors: dict[str, Tensor] = dict(graph.tensors)
    renamed: dict[str, str] = {}
    for op in graph.ops:
        if not isinstance(op, Concat) or op.axis != _ROWS:
            continue
        chain = _chain(graph, op)
        if not chain:
            continue
        parts, begins = list(op.inputs), [*_begins(graph, op)]
        for each in chain:
            for number, part in enumerate(parts):
                name = each.name if number == 0 else f"{each.name}{PARTS}{number}"
                made = f"{each.output}{PARTS}{number}"
                tensors[made] = replace(tensors[each.output], name=made, shape=tensors[part].shape)
                held = _rows_of(graph, each, begins[number], tensors[part].shape, made)
                if held is not None:
                    tensors[held.output] = replace(tensors[each.inputs[1]], name=held.output, shape=tensors[part].shape)
                    put.setdefault(each.name, []).append(held)
                others = each.inputs[1:] if held is None else held.outputs
                put.setdefault(each.name, []).append(replace(each, name=name, inputs=(part, *others), outputs=(made,)))
                parts[number] = made
        slices = graph.consumers(chain[-1].output)
        renamed |= {user.output: parts[_part(graph, op, user)] for user in slices}
        gone |= {op.name, *(user.name for user in slices)}
    if not gone:
        return graph
    ops = [with_inputs(new, renamed) for op in graph.ops if op.name not in gone for new in put.get(op.name, [op])]
    return graph.with_ops(ops, tensors)


def _chain(graph: XGraph, op: Concat) -> list[Op]:
    """The operations between joined products and the slices that take parts of their result. Empty: there are other readers."""
    if not all(isinstance(graph.producer(name), Product) and sole_reader(graph, name, op) for name in op.inputs):
        return []
    found: list[Op] = []
    name = op.output
    while name not in graph.outputs:
        users = graph.consumers(name)
        if found and users and all(_part(graph, op, user) >= 0 for user in users):
            return found
        if len(users) != 1 or not isinstance(users[0], Softmax | Eltwise) or users[0].inputs[0] != name:
            return []
        others = users[0].inputs[1:]
        if not all(_parts_with(graph, other) for other in others) or (others and len(op.inputs) > MOST_PARTS):
            return []
        found.append(users[0])
        name = users[0].output
    return []


def _rows_of(graph: XGraph, op: Op, first: int, shape: tuple[int, int, int, int], name: str) -> Constant | None:
    """The rows for one part of the constant that is an operand. None: there is no such constant, or it has one pixel."""
    held = graph.producer(op.inputs[1]) if len(op.inputs) > 1 else None
    if not isinstance(held, Constant) or held.values.shape[:3] == (1, 1, 1):
        return None
    rows = np.ascontiguousarray(held.values[:, first : first + shape[1]])
    return Constant(f"{name}/constant", (), (f"{name}/constant",), rows)


def _parts_with(graph: XGraph, name: str) -> bool:
    """Whether a second operand can serve each part: it is a constant, or has one number a channel for all pixels."""
    return isinstance(graph.producer(name), Constant) or graph.tensors[name].shape[:3] == (1, 1, 1)


def _part(graph: XGraph, whole: Concat, op: Op) -> int:
    """The number of the part of the joined map whose rows a slice takes. -1: it takes other rows, or is no such view."""
    if not isinstance(op, Slice) or op.output in graph.outputs or op.begin[1:] != (0, 0) or op.step != (1, 1):
        return -1
    rows = list(_begins(graph, whole))
    number = rows.index(op.begin[0]) if op.begin[0] in rows else -1
    inside = number >= 0 and graph.tensors[op.output].shape[:3] == graph.tensors[whole.inputs[number]].shape[:3]
    return number if inside and graph.tensors[op.output].channels == graph.tensors[op.inputs[0]].channels else -1


def _begins(graph: XGraph, whole: Concat) -> Iterator[int]:
    """Yields the first row of each part."""
    row = 0
    for name in whole.inputs:
        yield row
        row += graph.tensors[name].height
