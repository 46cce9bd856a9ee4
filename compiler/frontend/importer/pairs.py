"""Sums, differences and products of two quantised tensors."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from compiler.frontend.constraints import elementwise, general
from compiler.frontend.constraints.base import Unsupported, require
from compiler.frontend.importer import constants, kernels
from compiler.frontend.importer.context import Context
from compiler.frontend.importer.fitting import Fit, fitted, right
from compiler.frontend.importer.layout import last_letters_for, letters_for, map_shape, plain
from compiler.frontend.importer.pieces import pieces_for
from compiler.frontend.importer.requantise import best_slopes, exact_factors, factors, least_form, quantised
from compiler.frontend.importer.tables import applied
from compiler.frontend.importer.values import Fixed, Mapped, Pair, Params
from compiler.frontend.importer.views import ONE, arranged
from compiler.xgraph.ops import Conv, Eltwise, EltwiseKind, Finish, Requantisation, Window
from compiler.xgraph.reference import execute_op

Int64 = NDArray[np.int64]


def pair(ctx: Context, kind: str, a: Mapped, b: Mapped, *, fused: bool = False) -> Pair:
    """The pair of two operands in maps of the same layout, with the one that is broadcast second."""
    rank = max(len(a.shape), len(b.shape))
    single = [_single(a.shape, b.shape), _single(b.shape, a.shape)]
    if a.layout == b.layout and ctx.map_shape(a) == ctx.map_shape(b):
        return Pair(kind, a, b, fused=fused)
    require(general.at_most_four_dimensions, (1,) * rank)
    letters, a, b = _alike(ctx, a, b, rank)
    wide = map_shape(letters, tuple(map(max, a.shape, b.shape)))
    a, b = (_all_channels(ctx, value, wide[3], letters) for value in (a, b))
    sides = [ctx.map_shape(value)[1:3] for value in (a, b)]
    batches = {ctx.map_shape(value)[0] for value in (a, b)}
    if len(batches) > 1 or not all(side in (wide[1:3], (1, 1)) for side in sides) or wide[1:3] not in sides:
        require(elementwise.broadcast_fits)
    swapped = sides[0] != wide[1:3]
    if swapped:
        a, b = b, a
    return Pair(kind, a, b, swapped=swapped, single=single[0 if swapped else 1], fused=fused)


def _alike(ctx: Context, a: Mapped, b: Mapped, rank: int) -> tuple[str, Mapped, Mapped]:
    """Both operands in maps whose axes are the same dimensions: channels second, or last if only that is possible."""
    second, last = letters_for(rank), last_letters_for(rank)
    assert second is not None
    assert last is not None
    a, b = of_rank(a, rank), of_rank(b, rank)
    for letters in (second, last):
        try:
            return letters, arranged(ctx, a, letters, cheap=True), arranged(ctx, b, letters, cheap=True)
        except Unsupported:
            continue
    letters = min(last, second, key=lambda each: pieces_for(ctx, a, each) + pieces_for(ctx, b, each))
    return letters, arranged(ctx, a, letters), arranged(ctx, b, letters)


def _single(shape: tuple[int, ...], other: tuple[int, ...]) -> bool:
    """Whether one number meets a run of elements of the other operand."""
    for mine, its in zip(shape[::-1], other[::-1], strict=False):
        if its > 1:
            return mine == 1
    return len(other) > len(shape) and math.prod(shape) == 1


def of_rank(value: Mapped, rank: int) -> Mapped:
    """The value with ones before its dimensions, up to that rank."""
    layout = value.layout.reshaped((1,) * (rank - len(value.shape)) + value.shape)
    assert layout is not None
    return replace(value, layout=layout)


def _all_channels(ctx: Context, value: Mapped, channels: int, letters: str) -> Mapped:
    """A map with one value per pixel, copied to each channel."""
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


def with_constant(ctx: Context, kind: str, value: Mapped, constant: Fixed, *, first: bool = False, fused: bool = False) -> Pair:
    """A map and a constant, which is ONNX's second operand, or with ``first`` its first."""
    operand = constants.beside(ctx, constant, value)
    return Pair(kind, value, operand, swapped=first, single=_single(constant.values.shape, value.shape), fused=fused)


def finished(ctx: Context, value: Pair, params: Params, name: str, label: str) -> Mapped:
    """The map of a pair, with the nearest constants if these are right in all cases; else with those right in most."""
    a, b = value.a.params, value.b.params
    if value.kind in _BY_VALUES:
        return _by_values(ctx, value, params, name, label)
    lo, hi = quantised(value.lo, params), quantised(value.hi, params)
    kind = EltwiseKind.MUL if value.kind == "Mul" else EltwiseKind.ADD
    if kind is EltwiseKind.MUL:
        ratios, zeros = (float(np.float64(a.scale) * b.scale / params.scale), 0.0), (a.zero_point, b.zero_point)
    else:
        ratios, zeros = (a.scale / params.scale, (-1 if value.kind == "Sub" else 1) * b.scale / params.scale), (0, 0)
        ratios = (-ratios[0], -ratios[1]) if value.kind == "Sub" and value.swapped else ratios
    require(general.scale_fits, np.abs(ratios))
    form = _Form(value.kind, a, b, params, value.swapped, value.single, value.fused, (value.lo, value.hi))
    one = _of_one_tensor(ctx, value)
    if one is not None:
        source, code_a, code_b = one
        table = kernels.as_table(np.clip(form.target(), lo, hi)[code_a, code_b])
        return applied(ctx, source, table, params, name, label)
    found, after = _fit(form, ratios, (lo, hi))
    ctx.doubt(label, found.wrong, 65536, "pairs of operands")
    m, c, shift = least_form(found.factors, found.c, found.shift)
    tensor = ctx.tensor(name, ctx.map_shape(value.a), params)
    op = Eltwise(
        label, (value.a.tensor, value.b.tensor), (tensor,), kind, m[0], m[1], c, shift, Finish(after, lo, hi), *zeros
    )  # fmt: skip
    return ctx.add(op, value.a.layout, params)


_BY_VALUES = {"Max": EltwiseKind.MAX, "Min": EltwiseKind.MIN, "PRelu": EltwiseKind.SLOPE}


def _by_values(ctx: Context, value: Pair, params: Params, name: str, label: str) -> Mapped:
    """The map of a maximum, a minimum or slopes; each operand is requantised as exactly as by a table."""
    a, b = value.a.params, value.b.params
    if value.slopes is not None:
        (m_a, m_b), shift, wrong, cases = best_slopes(a, b, params, value.slopes)
        ctx.doubt(label, wrong, cases, "values and slopes", stays=True)
    else:
        found = exact_factors((a, b), params)
        require(elementwise.exact_factors, found)
        assert found is not None
        (m_a, m_b), shift = found
    (m_a, m_b), c, shift = least_form((m_a, m_b), 0, shift)
    finish = Finish(params.zero_point, quantised(value.lo, params), quantised(value.hi, params))
    tensor = ctx.tensor(name, ctx.map_shape(value.a), params)
    kind, operands = _BY_VALUES[value.kind], (value.a.tensor, value.b.tensor)
    op = Eltwise(label, operands, (tensor,), kind, m_a, m_b, c, shift, finish, a.zero_point, b.zero_point)
    return ctx.add(op, value.a.layout, params)


def _of_one_tensor(ctx: Context, value: Pair) -> tuple[Mapped, Int64, Int64] | None:
    """The map of which both operands are functions by tables, and the codes of both from 0 for each of its values.

    None if the operands do not depend on one map so.
    """
    (root, codes_a), (other, codes_b) = (_function(ctx, side.tensor) for side in (value.a, value.b))
    shapes = {ctx.map_shape(value.a), ctx.map_shape(value.b), ctx.tensors[root].shape}
    if root != other or value.a.layout != value.b.layout or len(shapes) > 1:
        return None
    tensor = ctx.tensors[root]
    params = Params(tensor.quantisation.scale, tensor.quantisation.zero_point, tensor.flip)
    return Mapped(root, value.a.layout, params, computed=root in ctx.made), codes_a, codes_b


def _function(ctx: Context, tensor: str) -> tuple[str, Int64]:
    """The map of which a map is a function, value by value, and the codes of that function from 0."""
    codes = np.arange(256)
    while True:
        op = ctx.made.get(tensor)
        if not isinstance(op, Eltwise) or op.kind is not EltwiseKind.PASS:
            return tensor, codes
        every = kernels.CODES.astype(np.int8).reshape(1, 1, 256, 1)
        result = execute_op(op, [every], (1, 1, 256, 1)).reshape(-1).astype(np.int64) + 128
        tensor, codes = op.inputs[0], codes[result]


@dataclass(frozen=True)
class _Form:
    """All that determines onnxruntime's result."""

    kind: str
    a: Params
    b: Params
    out: Params
    swapped: bool
    single: bool
    fused: bool
    bounds: tuple[float, float]

    def target(self) -> Int64:
        """onnxruntime's results for all values of ``a`` (rows) and ``b``."""
        first, second = (self.b, self.a) if self.swapped else (self.a, self.b)
        if not self.fused:
            found = kernels.between(self.kind, first, second, self.out, *self.bounds)
        elif self.kind == "Mul":
            found = kernels.multiplied(first, second, self.out)
        else:
            found = kernels.added(first, second, self.out, single=self.single and self.swapped)
        return found.T if self.swapped else found


@lru_cache(maxsize=4096)
def _fit(form: _Form, ratios: tuple[float, float], clamp: tuple[int, int]) -> tuple[Fit, int]:
    """The constants, and the zero-point that is added after rounding: the nearest if they are right, else searched ones."""
    a, b, zero, (lo, hi) = form.a, form.b, form.out.zero_point, clamp
    target = np.clip(form.target(), lo, hi)
    x, y = np.broadcast_arrays(kernels.CODES[:, None], kernels.CODES)
    offset = (a.zero_point, b.zero_point)
    if form.kind == "Mul":
        x, y, offset = (x - a.zero_point) * (y - b.zero_point), np.zeros_like(y), (0, 0)
    nearest, shift = factors(*ratios)
    m = (nearest[0], nearest[1])
    c = -offset[0] * m[0] - offset[1] * m[1]
    if right(x, y, m, c, shift, target - zero, lo - zero, hi - zero):
        return Fit(m, c, shift, 0), zero
    stored, code = form.out.stored, form.out.stored - zero
    target, lo, hi = target + code, lo + code, hi + code
    if right(x, y, m, c + (stored << shift), shift, target, lo, hi):
        return Fit(m, c + (stored << shift), shift, 0), -code
    return fitted(x, y, ratios, target, lo, hi), -code
