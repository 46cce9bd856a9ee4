"""Sums, differences and products of two quantised tensors."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from compiler.frontend.constraints import elementwise, general
from compiler.frontend.constraints.base import require
from compiler.frontend.importer.context import Context
from compiler.frontend.importer.layout import letters_for, map_shape, plain
from compiler.frontend.importer.requantise import factors, least_form, quantised
from compiler.frontend.importer.values import Mapped, Pair, Params
from compiler.frontend.importer.views import ONE, arranged, sliced
from compiler.frontend.model import Array
from compiler.xgraph.ops import Conv, Eltwise, EltwiseKind, Finish, Requantisation, Window


def pair(ctx: Context, kind: str, a: Mapped, b: Mapped, *, before: bool = False) -> Pair:
    """Operands in maps of the same layout, the one that is broadcast second."""
    rank = max(len(a.shape), len(b.shape))
    if a.layout == b.layout and ctx.map_shape(a) == ctx.map_shape(b):
        return Pair(kind, a, b, before=before)
    letters = letters_for(rank)
    require(general.at_most_four_dimensions, (1,) * rank)
    assert letters is not None
    a, b = (_of_rank(ctx, value, rank, letters) for value in (a, b))
    wide = map_shape(letters, tuple(map(max, a.shape, b.shape)))
    a, b = (_all_channels(ctx, value, wide[3], letters) for value in (a, b))
    sides = [ctx.map_shape(value)[1:3] for value in (a, b)]
    batches = {ctx.map_shape(value)[0] for value in (a, b)}
    if len(batches) > 1 or not all(side in (wide[1:3], (1, 1)) for side in sides) or wide[1:3] not in sides:
        require(elementwise.broadcast_fits)
    if sides[0] != wide[1:3]:
        if kind == "Sub":
            kind = "Bus"
        a, b = b, a
    return Pair(kind, a, b, before=before)


def _of_rank(ctx: Context, value: Mapped, rank: int, letters: str) -> Mapped:
    layout = value.layout.reshaped((1,) * (rank - len(value.shape)) + value.shape)
    assert layout is not None
    return arranged(ctx, replace(value, layout=layout), letters)


def _all_channels(ctx: Context, value: Mapped, channels: int, letters: str) -> Mapped:
    """One value per pixel, given to each channel."""
    n, h, w, c = ctx.map_shape(value)
    if c == channels:
        return value
    if c != 1:
        require(elementwise.broadcast_fits)
    unit = Requantisation(np.zeros(channels, np.int32), np.full(channels, ONE, np.uint32), np.full(channels, 23, np.uint8))
    name = ctx.tensor(ctx.fresh(f"{value.tensor}/channels"), (n, h, w, channels), ctx.stored(value))
    op = Conv(name, (value.tensor,), (name,), Window((1, 1)), np.ones((channels, 1, 1, 1), np.int8), unit, Finish())
    shape = {"N": n, "H": h, "W": w, "C": channels}
    return ctx.add(op, plain(letters, [shape[letter] for letter in letters]), value.params)


def constant_map(ctx: Context, values: Array, params: Params, like: Mapped) -> Mapped:
    """One constant per channel as a map: a depthwise convolution of zeros on one pixel of another map."""
    letters = letters_for(len(like.shape))
    assert letters is not None
    like = arranged(ctx, like, letters)
    n, h, w, c = ctx.map_shape(like)
    if values.ndim > len(letters):
        require(elementwise.broadcast_fits)
    sizes = dict(zip(letters, np.broadcast_shapes(values.shape, (1,) * len(letters)), strict=True))
    if any(size not in (1, c if letter == "C" else 1) for letter, size in sizes.items()):
        require(elementwise.broadcast_fits)
    signed = (values ^ 0x80).view(np.int8) if values.dtype == np.uint8 else values
    pixel = (n, 1, 1, c)
    shape = [{"N": n, "C": c}.get(letter, 1) for letter in letters]
    if (h, w) != (1, 1):
        like = sliced(ctx, like, (0, 0, 0), (1, 1), pixel, plain(letters, shape))
    bias = np.ascontiguousarray(np.broadcast_to(signed.reshape(-1), c)).astype(np.int32)
    unit = Requantisation(bias, np.full(c, ONE, np.uint32), np.full(c, 23, np.uint8))
    name = ctx.tensor(ctx.fresh(f"{like.tensor}/constant"), pixel, params)
    op = Conv(name, (like.tensor,), (name,), Window((1, 1)), np.zeros((c, 1, 1, 1), np.int8), unit, Finish(), groups=c)
    return ctx.add(op, plain(letters, shape), params)


def finished(ctx: Context, value: Pair, params: Params, name: str, label: str) -> Mapped:
    a, b = value.a.params, value.b.params
    if value.kind == "Mul":
        (m_a,), shift = factors(float(np.float64(a.scale) * b.scale / params.scale))
        m_b, c, kind = 0, 0, EltwiseKind.MUL
    else:
        sign_a, sign_b = {"Add": (1, 1), "Sub": (1, -1), "Bus": (-1, 1)}[value.kind]
        (m_a, m_b), shift = factors(sign_a * a.scale / params.scale, sign_b * b.scale / params.scale)
        c, kind = -a.zero_point * m_a - b.zero_point * m_b, EltwiseKind.ADD
    require(general.scale_fits, np.array([abs(m_a) * 2.0**-shift, abs(m_b) * 2.0**-shift]))
    after = params.zero_point
    if value.before:
        c, after = c + (params.zero_point << shift), 0
    (m_a, m_b), c, shift = least_form((m_a, m_b), c, shift)
    finish = Finish(after, quantised(value.lo, params), quantised(value.hi, params))
    tensor = ctx.tensor(name, ctx.map_shape(value.a), params)
    zeros = (a.zero_point, b.zero_point) if kind is EltwiseKind.MUL else (0, 0)
    op = Eltwise(label, (value.a.tensor, value.b.tensor), (tensor,), kind, m_a, m_b, c, shift, finish, *zeros)
    return ctx.add(op, value.a.layout, params)
