"""Steps that move a map: reshapes, slices and joins, which are views, and copies."""

from __future__ import annotations

from collections.abc import Sequence

from compiler.frontend.importer.context import Context
from compiler.frontend.importer.layout import Layout, Shape4
from compiler.frontend.importer.values import Mapped, Params
from compiler.xgraph.ops import Concat, Eltwise, EltwiseKind, Finish, Interleave, Reshape, Slice


def reshaped(ctx: Context, value: Mapped, shape: Shape4, layout: Layout, name: str = "") -> Mapped:
    """The bytes of the map in a map of another shape."""
    name = ctx.tensor(name or ctx.fresh(f"{value.tensor}/reshape"), shape, ctx.stored(value))
    return ctx.add(Reshape(name, (value.tensor,), (name,)), layout, value.params, computed=value.computed)


def sliced(
    ctx: Context, value: Mapped, begin: tuple[int, int, int], step: tuple[int, int], shape: Shape4, layout: Layout
) -> Mapped:
    name = ctx.tensor(ctx.fresh(f"{value.tensor}/slice"), shape, ctx.stored(value))
    return ctx.add(Slice(name, (value.tensor,), (name,), begin, step), layout, value.params, computed=value.computed)


def joined(
    ctx: Context, parts: Sequence[Mapped], shape: Shape4, layout: Layout, *, axis: int = 3, block: tuple[int, int] | None = None
) -> Mapped:
    """The parts one after another along an axis of the map, or with their pixels interleaved in blocks."""
    stored = ctx.stored(parts[0])
    parts = [part if ctx.stored(part) == stored else _copied(ctx, part, stored) for part in parts]
    name = ctx.tensor(ctx.fresh(f"{parts[0].tensor}/{'interleave' if block else 'concat'}"), shape, stored)
    inputs = tuple(part.tensor for part in parts)
    op = Interleave(name, inputs, (name,), block) if block else Concat(name, inputs, (name,), axis)
    return ctx.add(op, layout, parts[0].params, computed=any(part.computed for part in parts))


def _copied(ctx: Context, value: Mapped, stored: Params) -> Mapped:
    """A copy of the map whose quantisation is ``stored``."""
    name = ctx.tensor(ctx.fresh(f"{value.tensor}/as"), ctx.map_shape(value), stored)
    return ctx.add(Eltwise(name, (value.tensor,), (name,), EltwiseKind.PASS, 1, 0, 0, 0, Finish()), value.layout, value.params)
