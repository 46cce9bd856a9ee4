"""Products of two activations: each matrix of the operands (a head of attention) is a part of a map."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from math import prod

import numpy as np

from compiler.frontend.constraints import products as constraints
from compiler.frontend.constraints.base import require
from compiler.frontend.importer.context import Context
from compiler.frontend.importer.layout import Layout, axis
from compiler.frontend.importer.matrices import Matrices, in_pixels, in_rows, matrices, placed_like, stacked
from compiler.frontend.importer.values import Linear, Mapped, Params
from compiler.frontend.model import Node
from compiler.xgraph.ops import Finish, Requantisation
from compiler.xgraph.products import Product

HEADS = "/head"
"""Stands between a node's name and the number of the matrix that a product makes."""


def product(ctx: Context, node: Node, a: Mapped, b: Mapped) -> Linear:
    """The sums of a product of two activations.

    They are those of the first operand's rows, if these are pixels, or those of the second operand's columns, if only these
    are. If the pixels of the second operand are inputs, results lie as its matrices do. Else they lie in rows: a softmax over
    the transposed result then finds a row in all channels of a pixel.
    """
    require(constraints.products_built, ctx.extras.products)
    require(constraints.two_matrices, len(a.shape), len(b.shape))
    if in_pixels(ctx, b, turned=True) and not in_pixels(ctx, a, turned=False):
        return _of_columns(_sums(ctx, node, _transposed(b), _transposed(a)), len(ctx.shape(node.output)))
    return _sums(ctx, node, a, b)


def _transposed(value: Mapped) -> Mapped:
    return replace(value, layout=_swapped(value.layout))


def _swapped(layout: Layout) -> Layout:
    rank = len(layout.dims)
    return layout.transposed([*range(rank - 2), rank - 1, rank - 2])


def _of_columns(value: Linear, rank: int) -> Linear:
    """The sums for the transposed result; their rows and columns change places at the end."""

    def build(name: str, q: Requantisation, finish: Finish, params: Params) -> Mapped:
        return _transposed(value.build(name, q, finish, params))

    return replace(value, build=build, channel_dim=rank - 2)


def _sums(ctx: Context, node: Node, a: Mapped, b: Mapped) -> Linear:
    first, second = matrices(ctx, a, turned=False), matrices(ctx, b)
    outer = np.broadcast_shapes(a.shape[:-2], b.shape[:-2])
    of_first, of_second = (_numbers(value.shape[:-2], outer) for value in (a, b))
    columns = b.shape[-1]
    read = in_rows(ctx, second)

    def build(name: str, q: Requantisation, finish: Finish, params: Params) -> Mapped:
        require(constraints.no_bias, bool(q.bias.any()))
        fixed = int(q.mantissa[0]), int(q.shift[0])
        parts = []
        for number, (one, other) in enumerate(zip(of_first, of_second, strict=True)):
            x, w = first.part(ctx, one), read.part(ctx, other)
            piece = f"{HEADS}{number}" if len(of_first) > 1 else ""
            label, result = node.name + piece, name + piece
            tensor = ctx.tensor(result, (*ctx.map_shape(x)[:3], columns), params)
            inputs, zeros = (x.tensor, w.tensor), (a.params.zero_point, b.params.zero_point)
            op = Product(label, inputs, (tensor,), second.turned, *fixed, finish, *zeros)
            parts.append(ctx.add(op, Layout((first.in_one, axis("C", columns))), params, origin=node.name))
        together = _together(ctx, first, second, parts, of_second)
        whole = together.layout.reshaped((*outer, a.shape[-2], columns))
        assert whole is not None
        return replace(together, layout=whole)

    unit = np.float32(a.params.scale) * np.float32(b.params.scale)
    rank = len(outer) + 2
    return Linear(
        build, np.asarray(unit, np.float32).reshape(1), columns, np.zeros(columns, np.int64), channel_dim=rank - 1, rank=rank
    )


def _together(
    ctx: Context, first: Matrices, second: Matrices, parts: Sequence[Mapped], of_second: Sequence[int]
) -> Mapped:  # fmt: skip
    """The results of all matrices in one map."""
    if len(parts) == 1:
        return parts[0]
    if not second.turned and [*of_second] == [*range(len(parts))] and first.sides == second.sides:
        return placed_like(ctx, second, parts)
    return stacked(ctx, first, parts, second.in_channels and not second.turned)


def _numbers(shape: tuple[int, ...], outer: tuple[int, ...]) -> list[int]:
    """The number of the operand's matrix for each matrix of the result."""
    return [int(n) for n in np.broadcast_to(np.arange(prod(shape)).reshape(shape), outer).reshape(-1)]
