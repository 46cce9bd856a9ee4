"""Moves of tensors of 16 bits (views, joins and cuts), written as moves of their maps of bytes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace

from compiler.frontend.constraints import long_layers as constraints
from compiler.frontend.constraints.base import require
from compiler.frontend.importer.context import Context
from compiler.frontend.long_writer import SIXTEEN_BITS, Ends, Writer, ends_before, ends_of, form_axis, form_of, whole_numbers
from compiler.frontend.model import Model, Node, TensorType

_SAME = ("Reshape", "Flatten", "Squeeze", "Unsqueeze", "Identity")
_MOVES = (*_SAME, "Transpose", "Slice", "Split", "Concat")
_CHANNELS = 1
_MOST_KERNEL = 255


def with_stored_moves(model: Model, kept: Mapping[str, str]) -> Model:
    """The model with moves of dequantised tensors of 16 bits as moves of the stored tensors.

    A quantiser with the same numbers becomes an Identity. ``kept`` are nodes that are left as they are.
    """
    ctx, nodes, types = Context(model), list[Node](), dict[str, TensorType]()
    stored: dict[str, tuple[Ends, Node]] = {}
    for node in model.nodes:
        known = None if node.name in kept else ends_before(ctx, node)
        if known is not None and known.long:
            stored[node.output] = known, node
        data = node.inputs if node.op_type == "Concat" else node.inputs[:1]
        found = [stored[name] for name in data if name in stored]
        if node.name in kept or not found or len(found) != len(data) or not all(x.same_numbers(found[0][0]) for x, _ in found):
            nodes.append(node)
            continue
        first, reader = found[0]
        if node.op_type == "QuantizeLinear":
            again = ends_of(ctx, node, node.output)
            same = again is not None and again.same_numbers(first)
            nodes.append(Node(node.name, "Identity", (first.name,), node.outputs) if same else node)
        elif node.op_type in _MOVES and all(model.shape(name) is not None for name in node.outputs):
            inputs = *(x.name for x, _ in found), *node.inputs[len(data) :]
            nodes.append(replace(node, inputs=inputs, outputs=tuple(f"{name}/stored" for name in node.outputs)))
            for name in node.outputs:
                end = replace(first, name=f"{name}/stored")
                types[end.name] = TensorType(first.elem, model.shape(name))
                again_real = replace(reader, name=f"{name}/real", inputs=(end.name, *reader.inputs[1:]), outputs=(name,))
                nodes.append(again_real)
                stored[name] = end, again_real
        else:
            nodes.append(node)
    return replace(model, types={**model.types, **types}).with_nodes(nodes, model.constants)


def moved(ctx: Context, writer: Writer, node: Node) -> None:
    """Adds the maps of bytes of a move's results, if its operands have some and it moves whole words of channels."""
    if node.op_type not in _MOVES or node.domain or ctx.model.elem(node.inputs[0]) not in SIXTEEN_BITS:
        return
    source = node.inputs[0]
    if source in writer.flat and node.op_type in _SAME and writer.shape(source) == writer.shape(node.output):
        writer.flat[node.output] = writer.flat[source]
    for order in writer.orders(source):
        if node.op_type in _SAME:
            _same(writer, node, order)
        elif node.op_type == "Transpose":
            rank = len(order)
            turned = node.integers("perm", tuple(range(rank))[::-1])
            writer.maps[node.output, tuple(turned.index(axis) for axis in order)] = writer.maps[node.inputs[0], order]
        elif node.op_type == "Concat":
            _joined(writer, node, order)
        else:
            _cut(ctx, writer, node, order)
    if writer.orders(source):
        require(constraints.long_moves, all(name in writer.flat or writer.orders(name) for name in node.outputs))


def _same(writer: Writer, node: Node, order: tuple[int, ...]) -> None:
    """Adds the map of a view that is the same map, or all of it flattened."""
    before, after = writer.shape(node.inputs[0]), writer.shape(node.output)
    source = writer.maps[node.inputs[0], order]
    plain = tuple(range(len(before)))
    if before == after:
        writer.maps[node.output, order] = source
    elif order == plain and len(after) in (2, 3, 4):
        form = form_of(before)
        if form_of(after).shape == form.shape:
            writer.maps[node.output, tuple(range(len(after)))] = source
        elif len(after) == 2 and after[0] == before[0] and max(form.shape[2:]) <= _MOST_KERNEL:
            writer.flat[node.output] = node.inputs[0]


def _joined(writer: Writer, node: Node, order: tuple[int, ...]) -> None:
    keys = [(name, order) for name in node.inputs]
    forms = [writer.form(name, order) for name in node.inputs]
    axis = form_axis(order, node.integer("axis", 0))
    whole = all(form.shape[_CHANNELS] % writer.lanes == 0 for form in forms[:-1])
    if axis and all(key in writer.maps for key in keys) and (axis != _CHANNELS or whole):
        writer.moved(node, order, "Concat", [writer.maps[key] for key in keys], node.output, axis=axis)


def _cut(ctx: Context, writer: Writer, node: Node, order: tuple[int, ...]) -> None:
    """Adds the maps of cuts along one axis; channels are cut by whole words."""
    for output, axis, first in _pieces(ctx, node):
        source, at = writer.maps[node.inputs[0], order], form_axis(order, axis)
        size = writer.form(output, order).shape[at]
        if at == _CHANNELS:
            last = first + size == writer.form(node.inputs[0], order).shape[at]
            if first % writer.lanes or not (last or size % writer.lanes == 0):
                continue
            first, size = 2 * first, 2 * writer.together(writer.form(output, order).shape)[at]
        if at:
            bounds = {"starts": first, "ends": first + size, "axes": at}
            made = [writer.constant(f"{output}/{order}", role, whole_numbers([value])) for role, value in bounds.items()]
            writer.moved(node, order, "Slice", [source, *made], output)


def _pieces(ctx: Context, node: Node) -> Iterator[tuple[str, int, int]]:
    """Each output, the axis that it is cut along, and where it begins there."""
    shape = ctx.shape(node.inputs[0])
    if node.op_type == "Split":
        axis, first = node.integer("axis", 0) % len(shape), 0
        for output in node.outputs:
            yield output, axis, first
            first += ctx.shape(output)[axis]
        return
    starts, ends, axes, steps = (ctx.constant(node.input(index)) for index in (1, 2, 3, 4))
    if starts is not None and ends is not None and starts.size == 1 and (steps is None or steps.reshape(-1)[0] == 1):
        axis = int(axes.reshape(-1)[0]) % len(shape) if axes is not None else 0
        yield node.output, axis, slice(int(starts.reshape(-1)[0]), int(ends.reshape(-1)[0])).indices(shape[axis])[0]
