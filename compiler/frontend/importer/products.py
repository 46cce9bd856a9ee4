"""Products of two activations: each matrix of the operands (a head of attention) is a part of a map."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from math import prod

import numpy as np

from compiler.frontend.constraints import general
from compiler.frontend.constraints import products as constraints
from compiler.frontend.constraints.base import require
from compiler.frontend.importer.context import Context
from compiler.frontend.importer.layout import Atom, Dim, Layout, axis
from compiler.frontend.importer.values import Linear, Mapped, Params
from compiler.frontend.importer.views import arranged, joined, sliced
from compiler.frontend.model import Node
from compiler.xgraph.ops import Finish, Requantisation
from compiler.xgraph.products import Product

HEADS = "/head"
"""Between a node's name and the number of the matrix that a product makes."""


@dataclass(frozen=True)
class _Matrices:
    """Matrices in one map, of equal sizes; of each, one dimension are pixels, the other channels."""

    value: Mapped
    heads: Dim
    """Runs over the matrices."""
    pixels: Dim
    channels: int
    turned: bool
    """Pixels are columns, else rows."""

    def part(self, ctx: Context, number: int) -> Mapped:
        """One of them, as a map of its own."""
        begin = dict.fromkeys("HWC", 0)
        rest = number
        for atom in reversed(self.heads):
            begin[atom.axis] += rest % atom.size * atom.stride
            rest //= atom.size
        size = {"C": self.channels} | {atom.axis: atom.size for atom in self.pixels}
        shape = (1, size.get("H", 1), size.get("W", 1), size["C"])
        layout = Layout((self.pixels, axis("C", self.channels)))
        if shape == ctx.map_shape(self.value):
            return replace(self.value, layout=layout)
        return sliced(ctx, self.value, (begin["H"], begin["W"], begin["C"]), (1, 1), shape, layout)

    @property
    def in_channels(self) -> bool:
        """Whether it is channels that tell one matrix from another."""
        return all(atom.axis == "C" for atom in self.heads)


def product(ctx: Context, node: Node, a: Mapped, b: Mapped) -> Linear:
    """The sums; heads of the result lie in channels where those of the second operand do and its pixels are inputs, else in
    rows: a softmax over what is turned then finds a row in all channels of a pixel."""
    require(constraints.products_built, ctx.extras.products)
    require(constraints.two_matrices, len(a.shape), len(b.shape))
    first, second = _matrices(ctx, a, turned=False), _matrices(ctx, b)
    outer = np.broadcast_shapes(a.shape[:-2], b.shape[:-2])
    of_first, of_second = (_numbers(value.shape[:-2], outer) for value in (a, b))
    columns = b.shape[-1]

    def build(name: str, q: Requantisation, finish: Finish, params: Params) -> Mapped:
        require(constraints.no_bias, bool(q.bias.any()))
        fixed = int(q.mantissa[0]), int(q.shift[0])
        parts = []
        for number, (one, other) in enumerate(zip(of_first, of_second, strict=True)):
            x, w = first.part(ctx, one), second.part(ctx, other)
            piece = f"{HEADS}{number}" if len(of_first) > 1 else ""
            label, result = node.name + piece, name + piece
            tensor = ctx.tensor(result, (*ctx.map_shape(x)[:3], columns), params)
            inputs, zeros = (x.tensor, w.tensor), (a.params.zero_point, b.params.zero_point)
            op = Product(label, inputs, (tensor,), second.turned, *fixed, finish, *zeros)
            parts.append(ctx.add(op, Layout((first.pixels, axis("C", columns))), params, origin=node.name))
        layout, along = _together(first, columns, len(parts), second.in_channels and not second.turned)
        whole = layout.reshaped(ctx.shape(node.output))
        assert whole is not None
        if len(parts) == 1:
            return replace(parts[0], layout=whole)
        shape = [*ctx.map_shape(parts[0])]
        shape[along] *= len(parts)
        batch, rows, pixels, channels = shape
        return joined(ctx, parts, (batch, rows, pixels, channels), whole, axis=along)

    unit = np.float32(a.params.scale) * np.float32(b.params.scale)
    rank = len(ctx.shape(node.output))
    return Linear(
        build, np.asarray(unit, np.float32).reshape(1), columns, np.zeros(columns, np.int64), channel_dim=rank - 1, rank=rank
    )


def _together(first: _Matrices, columns: int, count: int, in_channels: bool) -> tuple[Layout, int]:
    """How all results lie in one map, and the axis along which they follow one another."""
    if in_channels:
        return Layout((_atom("C", columns, count), first.pixels, axis("C", columns))), 3
    height = prod(atom.size for atom in first.pixels if atom.axis == "H")
    return Layout((_atom("H", height, count), first.pixels, axis("C", columns))), 1


def _atom(letter: str, stride: int, size: int) -> Dim:
    return (Atom(letter, stride, size),) if size > 1 else ()


def _numbers(shape: tuple[int, ...], outer: tuple[int, ...]) -> list[int]:
    """Which of the operand's matrices each of the result's is made of."""
    return [int(n) for n in np.broadcast_to(np.arange(prod(shape)).reshape(shape), outer).reshape(-1)]


def _matrices(ctx: Context, value: Mapped, turned: bool | None = None) -> _Matrices:
    """``turned``: False where rows must be pixels; else either dimension may be."""
    require(general.at_most_four_dimensions, value.shape)
    flat = value.layout.reshaped((prod(value.shape[:-2]), *value.shape[-2:]))
    assert flat is not None
    value = replace(value, layout=flat)
    return next(_ways(value, turned), None) or next(_ways(arranged(ctx, value, "HWC"), turned))


def _ways(value: Mapped, turned: bool | None) -> Iterator[_Matrices]:
    heads, rows, columns = value.layout.dims
    for way in (False, True) if turned is None else (turned,):
        pixels, channels = (columns, rows) if way else (rows, columns)
        size = prod(atom.size for atom in channels)
        plain_pixels = [(atom.axis, atom.stride) for atom in pixels] in ([], [("W", 1)], [("H", 1)], [("H", 1), ("W", 1)])
        if channels == axis("C", size) and plain_pixels and all(atom.axis != "N" for atom in heads):
            yield _Matrices(value, heads, pixels, size, way)
