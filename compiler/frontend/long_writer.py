"""Maps of bytes for tensors of 16 bits, and calls of the definitions that make and read them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import onnx

from compiler.definitions.integer_graph import DOMAIN
from compiler.definitions.long_maps import INPUTS, JOIN, SIGN, SPLIT
from compiler.frontend.constraints import long_layers as constraints
from compiler.frontend.constraints.base import require
from compiler.frontend.importer.context import EIGHT_BITS, Context
from compiler.frontend.model import Array, Model, Node, TensorType, scalar

SIXTEEN_BITS = (onnx.TensorProto.INT16, onnx.TensorProto.UINT16)
HALF = 1 << 15
Write = Callable[[str, tuple[int, ...]], None]
"""Writes the nodes that make a tensor of this name and shape."""
Shape4 = tuple[int, int, int, int]
"""Batch, channels, height and width."""


@dataclass(frozen=True)
class Ends:
    """A quantised tensor: its scale, and its zero-point as it is stored."""

    name: str
    elem: int
    scale: np.float32
    zero_point: int

    @property
    def long(self) -> bool:
        return self.elem in SIXTEEN_BITS

    @property
    def offset(self) -> int:
        """The number that makes the least stored number 0 when it is added."""
        signed = self.elem in (onnx.TensorProto.INT8, onnx.TensorProto.INT16)
        return (HALF if self.long else SIGN) if signed else 0

    @property
    def bounds(self) -> tuple[int, int]:
        least, count = -self.offset, 2 * (HALF if self.long else SIGN)
        return least, least + count - 1

    def quantised(self, value: float) -> int:
        stored = np.rint(np.float32(value) / self.scale) + self.zero_point
        return int(np.clip(stored, *self.bounds))

    def same_numbers(self, other: Ends) -> bool:
        """Whether the same integers are the same real values in both."""
        return (self.elem, self.scale, self.zero_point) == (other.elem, other.scale, other.zero_point)


@dataclass(frozen=True)
class Form:
    """A tensor as a map: the axes that are batch, channels and sides, and their lengths."""

    order: tuple[int, ...]
    shape: Shape4

    @property
    def turned(self) -> bool:
        return self.order != tuple(range(len(self.order)))

    def label(self, name: str) -> str:
        """The name of the tensor with its axes in that order."""
        return f"{name}/{''.join(map(str, self.order))}" if self.turned else name

    @property
    def back(self) -> tuple[int, ...]:
        """The order that undoes this one."""
        return tuple(self.order.index(axis) for axis in range(len(self.order)))


def form_of(shape: Sequence[int], order: Sequence[int] = ()) -> Form:
    """The form of a shape, with axes in ``order``. Three dimensions are a map of height 1, two are a map of one pixel."""
    rank = len(shape)
    require(constraints.long_sides, rank)
    axes = tuple(order) or tuple(range(rank))
    sides = [shape[axis] for axis in axes]
    n, c, h, w = (*sides[:2], 1, sides[2]) if rank == 3 else (*sides, 1, 1)[:4]
    return Form(axes, (n, c, h, w))


def channels_last(rank: int) -> tuple[int, ...]:
    """The order of axes that has the channels last in the tensor."""
    return (0, rank - 1, *range(1, rank - 1)) if rank > 2 else tuple(range(rank))


def form_axis(order: Sequence[int], axis: int) -> int:
    """The place of a tensor's axis in its map: batch, channels, height, width."""
    place = list(order).index(axis % len(order))
    return 3 if len(order) == 3 and place == 2 else place


def ends_of(ctx: Context, node: Node, name: str) -> Ends | None:
    """The quantisation that a QuantizeLinear or DequantizeLinear gives a tensor, if it has 8 or 16 bits and one scale."""
    scale, zero, elem = ctx.constant(node.input(1)), ctx.constant(node.input(2)), ctx.model.elem(name)
    whole = scale is not None and scale.size == 1 and (not node.input(2) or (zero is not None and zero.size == 1))
    if not whole or elem not in (*EIGHT_BITS, *SIXTEEN_BITS):
        return None
    assert scale is not None
    return Ends(name, elem, np.float32(scalar(scale)), int(scalar(zero)) if zero is not None else 0)


def ends_before(ctx: Context, reader: Node | None) -> Ends | None:
    """The quantisation of the activation that the node dequantises, if it does."""
    if reader is None or reader.op_type != "DequantizeLinear" or reader.inputs[0] in ctx.model.constants:
        return None
    return ends_of(ctx, reader, reader.inputs[0])


@dataclass
class Writer:
    """The new nodes, constants and types of a model, and the maps of bytes of its tensors."""

    model: Model
    lanes: int
    nodes: list[Node] = field(default_factory=list)
    constants: dict[str, Array] = field(default_factory=dict)
    types: dict[str, TensorType] = field(default_factory=dict)
    maps: dict[tuple[str, tuple[int, ...]], str] = field(default_factory=dict)
    """The map of bytes of each tensor of 16 bits that has one, by the order of its axes there."""
    flat: dict[str, str] = field(default_factory=dict)
    """The map of bytes of each tensor of two dimensions that is a flattened map."""

    def constant(self, owner: str, role: str, value: Array) -> str:
        name = f"{owner}/{role}"
        self.constants[name] = value
        return name

    def node(self, kind: str, inputs: Sequence[str], output: str, known: TensorType, **attributes: object) -> str:
        """Adds a node of ONNX that makes ``output``, and returns that new name."""
        self.nodes.append(Node(f"{output}/{kind.lower()}", kind, tuple(inputs), (output,), attributes))
        self.types[output] = known
        return output

    def call(self, kind: str, name: str, x: str, given: Mapping[str, Array], output: str, **attributes: object) -> None:
        inputs = [x, *(self.constant(name, role, given[role]) for role in INPUTS[kind][1:])]
        self.nodes.append(Node(name, kind, tuple(inputs), (output,), attributes, DOMAIN))

    def shape(self, name: str) -> tuple[int, ...]:
        known = self.types[name].shape if name in self.types else self.model.shape(name)
        assert known is not None
        return known

    def orders(self, name: str) -> list[tuple[int, ...]]:
        """The orders of axes in which the tensor has maps of bytes."""
        return [order for known, order in self.maps if known == name]

    def form(self, name: str, order: Sequence[int]) -> Form:
        return form_of(self.shape(name), order)

    def apart(self, shape: Shape4) -> list[int]:
        """The shape of a map of bytes in which the lanes, and the low and high bytes, have dimensions of their own."""
        n, c, h, w = shape
        return [n, -(-c // self.lanes), 2, self.lanes, h, w]

    def together(self, shape: Shape4) -> Shape4:
        """The shape of a map with whole words of channels, counted in numbers of 16 bits."""
        n, c, h, w = shape
        return n, c + -c % self.lanes, h, w

    def bytes_type(self, shape: Shape4) -> TensorType:
        n, c, h, w = self.together(shape)
        return TensorType(onnx.TensorProto.INT8, (n, 2 * c, h, w))

    def map_of(self, x: Ends, form: Form) -> str:
        """The map of bytes of a tensor of 16 bits. The host splits the tensor, if nothing on the machine makes it."""
        key = x.name, form.order
        if key not in self.maps:
            source, label = self.turned(x, form), form.label(x.name)
            made, whole = f"{label}/bytes", self.together(form.shape)
            pads = [0, 0, 0, 0, 0, whole[1] - form.shape[1], 0, 0]
            given = {"given": form.shape, "offset": x.offset, "pads": pads, "apart": self.apart(form.shape)}
            self.types[made] = self.bytes_type(form.shape)
            given |= {"together": self.types[made].shape}
            self.call(SPLIT, f"{label}/split", source, {role: whole_numbers(value) for role, value in given.items()}, made)
            self.maps[key] = made
        return self.maps[key]

    def turned(self, x: Ends, form: Form) -> str:
        """The tensor with its axes in the order of its map."""
        if not form.turned:
            return x.name
        known = TensorType(x.elem, tuple(self.shape(x.name)[axis] for axis in form.order))
        label = form.label(x.name)
        return label if label in self.types else self.node("Transpose", (x.name,), label, known, perm=form.order)

    def made(self, y: Ends, form: Form, source: str) -> None:
        """Notes that ``source`` is the map of ``y``, and adds the call by which the host joins it, if somebody reads it."""
        self.maps[y.name, form.order] = source
        given = {
            "apart": self.apart(form.shape), "together": self.together(form.shape), "channels": [form.shape[1]],
            "offset": y.offset,
        }  # fmt: skip
        self.from_map(y, form, lambda output, shape: self.call(
            JOIN, f"{y.name}/join", source, {role: whole_numbers(v) for role, v in {**given, "final": shape}.items()}, output,
            to=y.elem,
        ))  # fmt: skip

    def moved(self, node: Node, order: tuple[int, ...], kind: str, inputs: Sequence[str], output: str, **more: object) -> None:
        """Adds a node of ``kind`` that makes a map of bytes of others, as the given node makes its result of tensors."""
        form = self.form(output, order)
        made = f"{form.label(output)}/bytes"
        self.types[made] = self.bytes_type(form.shape)
        self.nodes.append(Node(f"{node.name}/{made}", kind, tuple(inputs), (made,), more))
        self.maps[output, order] = made

    def from_map(self, y: Ends, form: Form, write: Write) -> None:
        """Makes ``y`` in the order of its own axes; ``write`` writes the nodes that make it in the order of the map."""
        shape = self.shape(y.name)
        if not form.turned:
            write(y.name, shape)
            return
        turned = tuple(shape[axis] for axis in form.order)
        made = form.label(y.name)
        self.types[made] = TensorType(y.elem, turned)
        write(made, turned)
        self.nodes.append(Node(f"{made}/back", "Transpose", (made,), (y.name,), {"perm": form.back}))


def whole_numbers(values: object) -> Array:
    return np.asarray(values, np.int64)
