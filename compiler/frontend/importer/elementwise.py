"""Element-wise operators: tables, clamps, biases, and pairs of tensors."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from compiler.frontend.constraints import elementwise, general
from compiler.frontend.constraints.base import require
from compiler.frontend.importer import linear, pairs
from compiler.frontend.importer.constants import dequantised_constant, fixed
from compiler.frontend.importer.context import EIGHT_BITS, Context, rule
from compiler.frontend.importer.tables import applied, function_of
from compiler.frontend.importer.values import Affine, Fixed, Joined, Linear, Mapped, Mean, Pair, Params, Unary, Value
from compiler.frontend.importer.weights import real_constant
from compiler.frontend.model import MICROSOFT, Array, Node, scalar


@rule(*elementwise.UNARY)
def unary(ctx: Context, node: Node) -> None:
    value = ctx.value(node.inputs[0])
    require(general.input_or_sum, value)
    if node.op_type == "PRelu":
        slopes = real_constant(ctx, node.inputs[1])
        require(elementwise.constant_slope, slopes)
        assert slopes is not None
        if slopes.size > 1:
            ctx.values[node.output] = _by_channel(ctx, node, value)
            return
    for name in node.inputs[1:]:
        if name:
            require(elementwise.scalar_operand, ctx.constant(name))
    if isinstance(value, Linear | Pair | Mean | Joined | Affine):
        bounds = _bounds(ctx, node)
        if bounds is None:
            require(general.quantised_after)
        else:
            ctx.values[node.output] = value.clamped(*bounds)
    elif isinstance(value, Mapped) and value.shape == ctx.shape(node.output) and ctx.model.elem(node.output) in EIGHT_BITS:
        ctx.values[node.output] = applied(ctx, value, function_of(ctx, node), value.params, node.output, node.name)
    elif value is not None:
        ctx.values[node.output] = Unary(_source(value), node.output)


def _bounds(ctx: Context, node: Node) -> tuple[float, float] | None:
    """The bounds of a Relu or Clip; None for any other operator."""
    if node.op_type == "Relu":
        return 0.0, np.inf
    if node.op_type != "Clip":
        return None
    low, high = ctx.constant(node.input(1)), ctx.constant(node.input(2))
    lo = float(scalar(low)) if low is not None else float(node.attributes.get("min", -np.inf))
    hi = float(scalar(high)) if high is not None else float(node.attributes.get("max", np.inf))
    return lo, hi


def _source(value: Value) -> Mapped:
    assert isinstance(value, Mapped | Unary)
    return value if isinstance(value, Mapped) else value.source


@rule("Add", "Sub", "Mul", "Div", "Pow", "Min", "Max")
def binary(ctx: Context, node: Node) -> None:
    require(elementwise.two_operands, len(node.inputs))
    values = [ctx.value(name) for name in node.inputs]
    constants = [real_constant(ctx, name) for name in node.inputs]
    for this, other in ((0, 1), (1, 0)):
        value, constant = values[this], constants[other]
        if constant is not None:
            require(general.input_or_sum, value)
            assert value is not None
            ctx.values[node.output] = _with_constant(ctx, node, value, constant, other)
            return
    a, b = values
    require(general.input_or_sum, a)
    require(general.input_or_sum, b)
    if isinstance(a, Mapped | Unary) and isinstance(b, Mapped | Unary):
        x, y = _source(a), _source(b)
        if (x.tensor, x.layout) == (y.tensor, y.layout):
            ctx.values[node.output] = Unary(x, node.output)
            return
    require(elementwise.kind_of_pair, node.op_type)
    if not (isinstance(a, Mapped) and isinstance(b, Mapped)):
        require(general.quantised_after)
    assert isinstance(a, Mapped)
    assert isinstance(b, Mapped)
    ctx.values[node.output] = pairs.pair(ctx, node.op_type, a, b)


def _with_constant(ctx: Context, node: Node, value: Value, constant: Array, place: int) -> Value:
    if isinstance(value, Linear):
        per_channel = constant.size in (1, value.channels) and varying_dimension(constant, value.rank) in (
            None,
            value.channel_dim,
        )
        if node.op_type == "Add" and per_channel and constant.ndim <= value.rank and not value.is_clamped:
            return linear.with_bias(value, constant)
        require(general.quantised_after)
    if constant.size == 1 and isinstance(value, Mapped | Unary):
        return Unary(pairs.of_rank(_source(value), len(ctx.shape(node.output))), node.output)
    if not isinstance(value, Mapped):
        require(general.quantised_after)
    assert isinstance(value, Mapped)
    require(elementwise.kind_of_pair, node.op_type)
    return pairs.with_constant(ctx, node.op_type, value, _constant_operand(ctx, node.inputs[place]), first=place == 0)


def _by_channel(ctx: Context, node: Node, value: Value | None) -> Pair:
    """A PRelu with a slope for each channel, as a pair of map and slopes."""
    if not isinstance(value, Mapped):
        require(general.quantised_after)
    assert isinstance(value, Mapped)
    slopes = _constant_operand(ctx, node.inputs[1])
    return replace(pairs.with_constant(ctx, node.op_type, value, slopes), slopes=slopes.values)


def _constant_operand(ctx: Context, name: str) -> Fixed:
    found = dequantised_constant(ctx, name)
    require(elementwise.constant_quantised, found)
    assert found is not None
    return found


def varying_dimension(constant: Array, rank: int) -> int | None:
    """The dimension of a tensor of that rank along which a broadcast constant varies; -1 if there are several."""
    wide = [i + rank - constant.ndim for i, size in enumerate(constant.shape) if size > 1]
    return None if not wide else wide[0] if len(wide) == 1 else -1


@rule("QLinearAdd", "QLinearMul", domain=MICROSOFT)
def qlinear_pair(ctx: Context, node: Node) -> None:
    kind = node.op_type.removeprefix("QLinear")
    params = ctx.params(node.inputs[6], node.input(7), ctx.model.elem(node.output))
    operands: list[Mapped | Array] = []
    for index in (0, 3):
        constant = ctx.constant(node.inputs[index])
        given = ctx.params(node.inputs[index + 1], node.input(index + 2), ctx.model.elem(node.inputs[index]))
        operands.append(replace(ctx.mapped(node.inputs[index]), params=given) if constant is None else constant)
    a, b = operands
    if isinstance(a, Mapped) and isinstance(b, Mapped):
        value = pairs.pair(ctx, kind, a, b, fused=True)
    else:
        mapped, values = (a, b) if isinstance(a, Mapped) else (b, a)
        assert isinstance(mapped, Mapped)
        assert not isinstance(values, Mapped)
        if values.size == 1:
            mapped = pairs.of_rank(mapped, len(ctx.shape(node.output)))
            ctx.values[node.output] = applied(ctx, mapped, function_of(ctx, node), params, node.output, node.name)
            return
        place = 0 if isinstance(b, Mapped) else 3
        given = ctx.params(node.inputs[place + 1], node.input(place + 2), ctx.model.elem(node.inputs[place]))
        value = pairs.with_constant(ctx, kind, mapped, fixed(values, given), first=place == 0, fused=True)
    ctx.values[node.output] = pairs.finished(ctx, value, params, node.output, node.name)


@rule("QLinearLeakyRelu", "QLinearSigmoid", domain=MICROSOFT)
def qlinear_unary(ctx: Context, node: Node) -> None:
    source = replace(
        ctx.mapped(node.inputs[0]), params=ctx.params(node.inputs[1], node.input(2), ctx.model.elem(node.inputs[0]))
    )
    params: Params = ctx.params(node.inputs[3], node.input(4), ctx.model.elem(node.output))
    ctx.values[node.output] = applied(ctx, source, function_of(ctx, node), params, node.output, node.name)


@rule("Sum")
def sum_of(ctx: Context, node: Node) -> None:
    binary(ctx, replace(node, op_type="Add"))
