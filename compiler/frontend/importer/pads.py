"""Padding. A constant pads rows and columns by a window of one pixel, and channels by a selection; negative amounts cut.

Edges that are repeated, reflected or wrapped are rows, columns and channels of the map, taken again.
"""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np

from compiler.frontend.constraints import movement
from compiler.frontend.constraints.base import require
from compiler.frontend.importer.context import EIGHT_BITS, Context, rule
from compiler.frontend.importer.layout import Layout, plain
from compiler.frontend.importer.movement import cut, integers
from compiler.frontend.importer.moves import reshaped
from compiler.frontend.importer.selection import runs_of, taken
from compiler.frontend.importer.values import Mapped, Params
from compiler.frontend.importer.views import anyhow, selected
from compiler.frontend.importer.weights import real_constant
from compiler.frontend.model import Node, scalar
from compiler.xgraph.ops import Finish, Pool, PoolKind, Window


@rule("Pad")
def pad(ctx: Context, node: Node) -> None:
    x = ctx.mapped(node.inputs[0])
    mode = node.text("mode", "constant")
    rank = len(x.shape)
    given = ctx.constant(node.input(1)) if len(node.inputs) > 1 else np.array(node.integers("pads", ()))
    require(movement.indices_constant, given)
    assert given is not None
    amounts = [int(v) for v in given.reshape(-1)]
    axes = integers(ctx.constant(node.input(3)), range(rank)) if len(node.inputs) > 3 else list(range(rank))
    before, after = {a % rank: v for a, v in zip(axes, amounts, strict=False)}, {}
    after = {a % rank: v for a, v in zip(axes, amounts[len(axes) :], strict=True)}
    if any(v < 0 for v in amounts):
        cuts = []
        for i, size in enumerate(x.shape):
            first, last = max(0, -before.get(i, 0)), max(0, -after.get(i, 0))
            cuts.append((first, 1, size - first - last))
        x = cut(ctx, x, cuts)
    letters, x = anyhow(ctx, x)
    low = {letters[i]: max(0, v) for i, v in before.items()}
    high = {letters[i]: max(0, v) for i, v in after.items()}
    require(movement.pads_space_or_channels, {letter for side in (low, high) for letter, v in side.items() if v})
    n, h, w, c = ctx.map_shape(x)
    if mode != "constant":
        ctx.values[node.output] = _repeated(ctx, x, mode, low, high, plain(letters, ctx.shape(node.output)))
        return
    fill = _fill(ctx, node, x.params, _padding_value(ctx, node))
    if low.get("C", 0) or high.get("C", 0):
        channels: list[int | None] = [None] * low.get("C", 0) + list(range(c)) + [None] * high.get("C", 0)
        middle = {"N": n, "H": h, "W": w, "C": len(channels)}
        x = selected(ctx, x, channels, plain(letters, [middle[letter] for letter in letters]), fill)
    pads = (low.get("H", 0), low.get("W", 0), high.get("H", 0), high.get("W", 0))
    ctx.values[node.output] = padded(ctx, node, x, pads, fill, plain(letters, ctx.shape(node.output))) if any(pads) else x


def _padding_value(ctx: Context, node: Node) -> float:
    """The padding value: a constant input, in float or through DequantizeLinear; in old operator sets an attribute."""
    if not node.input(2):
        return float(node.attributes.get("value", 0.0))
    constant = real_constant(ctx, node.input(2))
    require(movement.indices_constant, constant)
    assert constant is not None
    return float(scalar(constant))


def _fill(ctx: Context, node: Node, params: Params, value: float) -> int:
    """The padding value as int8; an int8 tensor is padded with the stored value."""
    if ctx.model.elem(node.inputs[0]) == ctx.model.elem(node.output) and ctx.model.elem(node.output) in EIGHT_BITS:
        return int(value) - (128 if params.unsigned else 0)
    stored = np.float32(value) / np.float32(params.scale) + params.zero_point
    exact = stored == np.rint(stored) and -128 <= stored <= 127
    require(movement.pad_representable, bool(exact) or _quantised_alike(ctx, node.output, params))
    return int(np.clip(np.rint(np.float32(value) / np.float32(params.scale)) + params.zero_point, -128, 127))


def _quantised_alike(ctx: Context, name: str, params: Params) -> bool:
    """Whether all readers of a float tensor quantise it with these parameters; a constant in it is rounded there."""
    readers = ctx.consumers.get(name, [])
    return (
        bool(readers) and name not in ctx.model.outputs and all(reader.op_type == "QuantizeLinear" for reader in readers)
        and all(ctx.params(r.inputs[1], r.input(2), ctx.model.elem(r.output)) == params for r in readers)
    )  # fmt: skip


def _repeated(ctx: Context, x: Mapped, mode: str, low: dict[str, int], high: dict[str, int], layout: Layout) -> Mapped:
    """The map with edges that are repeated, reflected or wrapped: its own rows, columns and channels."""
    amounts = {letter: (low.get(letter, 0), high.get(letter, 0)) for letter in "CHW"}
    for letter, amount in amounts.items():
        size = ctx.map_shape(x)["NHWC".index(letter)]
        if not any(amount):
            continue
        source = [int(i) for i in np.pad(np.arange(size), amount, mode)]  # type: ignore[call-overload]
        if letter == "C":
            x = selected(ctx, x, source, plain("NHWC", (*ctx.map_shape(x)[:3], len(source))))
        elif len(runs_of(source)) > movement.MOST_PIECES and size == math.prod(ctx.map_shape(x)):
            x = _line(ctx, x, source, letter)
        else:
            x = taken(ctx, x, "NHWC".index(letter), source)
    return replace(x, layout=layout)


def _line(ctx: Context, x: Mapped, source: list[int], letter: str) -> Mapped:
    """A map of one row or one column, as sound is, with pixels selected by ``source``; they are selected as channels."""
    whole = (1, 1, 1, len(source))
    as_channels = reshaped(ctx, x, (1, 1, 1, math.prod(ctx.map_shape(x))), plain("NHWC", (1, 1, 1, math.prod(x.shape))))
    found = selected(ctx, as_channels, source, plain("NHWC", whole))
    shape = (1, len(source), 1, 1) if letter == "H" else (1, 1, len(source), 1)
    return reshaped(ctx, found, shape, plain("NHWC", shape))


def padded(ctx: Context, node: Node, x: Mapped, pads: tuple[int, int, int, int], fill: int, layout: Layout) -> Mapped:
    n, h, w, c = ctx.map_shape(x)
    tensor = ctx.tensor(node.output, (n, h + pads[0] + pads[2], w + pads[1] + pads[3], c), ctx.stored(x))
    op = Pool(node.name, (x.tensor,), (tensor,), PoolKind.MAX, Window((1, 1), (1, 1), (1, 1), pads), Finish(), fill)
    return ctx.add(op, layout, x.params)
