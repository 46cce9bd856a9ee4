"""QuantizeLinear and DequantizeLinear: values get their int8 form, or show their float image."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from compiler.frontend.constraints import general
from compiler.frontend.constraints.base import require
from compiler.frontend.importer import kernels, linear, movement, normalised, pairs, pools, rows
from compiler.frontend.importer.context import Context, rule
from compiler.frontend.importer.requantise import quantised
from compiler.frontend.importer.tables import applied, function_of
from compiler.frontend.importer.values import Affine, Joined, Linear, Mapped, Mean, OfRows, Pair, Params, Unary
from compiler.frontend.model import MICROSOFT, Node

INTEGER_KERNELS = ("Add", "Mul", "AveragePool")
"""Operators that onnxruntime rounds otherwise in its integer kernel than in float."""

MEANS_OF_INTEGERS = ("AveragePool", "GlobalAveragePool")
"""Means that have an integer kernel. ReduceMean and ReduceSum have none: they are computed in float32."""

PASSED_BY = ("Relu", "Clip", "Reshape", "Flatten", "Squeeze", "Unsqueeze")
"""Operators that may stand between one with an integer kernel and QuantizeLinear; onnxruntime makes the kernel nevertheless."""


@rule("DequantizeLinear")
@rule("DequantizeLinear", domain=MICROSOFT)
def dequantize(ctx: Context, node: Node) -> None:
    if node.inputs[0] in ctx.model.constants:
        return
    require(general.eight_bits, ctx.model.elem(node.inputs[0]))
    params = ctx.params(node.inputs[1], node.input(2), ctx.model.elem(node.inputs[0]))
    ctx.values[node.output] = replace(ctx.mapped(node.inputs[0]), params=params)


@rule("QuantizeLinear")
@rule("QuantizeLinear", domain=MICROSOFT)
def quantize(ctx: Context, node: Node) -> None:
    value = ctx.value(node.inputs[0])
    require(general.made_on_machine, value)
    params = ctx.params(node.inputs[1], node.input(2), ctx.model.elem(node.output))
    ctx.values[node.output] = settled(ctx, node, params)


def settled(ctx: Context, node: Node, params: Params) -> Mapped:
    """The map of a value that this node quantises."""
    value = ctx.value(node.inputs[0])
    match value:
        case Mapped():
            if value.params == params:
                return value
            return applied(ctx, value, function_of(ctx, node), params, node.output, node.name)
        case Unary():
            table = _with_number(ctx, node, value, params)
            table = _with_itself(ctx, node, params) if table is None else table
            table = function_of(ctx, node) if table is None else table
            return applied(ctx, value.source, table, params, node.output, node.name)
        case Affine():
            return normalised.finished(ctx, value, node, params)
        case OfRows():
            return rows.finished(ctx, value, node, params)
        case Joined():
            return movement.requantised_join(ctx, value, params, node.output, node.name)
        case Linear():
            return linear.finished(ctx, value, params, node.output)
        case Pair():
            fused = replace(value, fused=_fused(ctx, node, [value.a.params, value.b.params], params, (value.lo, value.hi)))
            return pairs.finished(ctx, fused, params, node.output, node.name)
        case Mean():
            kernel = _kernel(ctx, node, [value.source.params], params, (value.lo, value.hi))
            value = replace(value, fused=kernel in INTEGER_KERNELS, real=kernel not in MEANS_OF_INTEGERS)
            return pools.finished(ctx, value, params, node.output)
    raise AssertionError(value)


def _with_number(ctx: Context, node: Node, value: Unary, params: Params) -> NDArray[np.int8] | None:
    """The table of a sum or product with one number, if onnxruntime makes an integer kernel of it."""
    maker = ctx.producers[node.inputs[0]]
    if maker.op_type not in ("Add", "Mul") or not any(ctx.value(name) == value.source for name in maker.inputs):
        return None
    numbers = [ctx.producers[name] for name in maker.inputs if name in ctx.producers and name not in ctx.values]
    if len(numbers) != 1 or numbers[0].op_type != "DequantizeLinear":
        return None
    stored = ctx.constant(numbers[0].inputs[0])
    if stored is None or stored.size != 1:
        return None
    other = ctx.params(numbers[0].inputs[1], numbers[0].input(2), ctx.model.elem(numbers[0].inputs[0]))
    if not _fused(ctx, node, [value.source.params, other], params, (-np.inf, np.inf)):
        return None
    code = int(stored.reshape(-1)[0]) - (other.stored - other.zero_point) + 128
    if maker.op_type == "Mul":
        return kernels.as_table(kernels.multiplied(value.source.params, other, params)[:, code])
    if maker.inputs[0] == numbers[0].output:
        return kernels.as_table(kernels.added(other, value.source.params, params, single=True)[code])
    return kernels.as_table(kernels.added(value.source.params, other, params)[:, code])


def _with_itself(ctx: Context, node: Node, params: Params) -> NDArray[np.int8] | None:
    """The table of a map's sum or product with itself, perhaps at another zero-point, if that is an integer kernel."""
    maker = ctx.producers[node.inputs[0]]
    sides = [side.params for name in maker.inputs if isinstance(side := ctx.value(name), Mapped)]
    if maker.op_type not in ("Add", "Mul") or len(sides) != 2 or not _fused(ctx, node, sides, params, (-np.inf, np.inf)):
        return None
    a, b = sides
    found = kernels.multiplied(a, b, params) if maker.op_type == "Mul" else kernels.added(a, b, params)
    return kernels.as_table(found.diagonal())


def _fused(ctx: Context, node: Node, sources: list[Params], params: Params, bounds: tuple[float, float]) -> bool:
    return _kernel(ctx, node, sources, params, bounds) in INTEGER_KERNELS


def _kernel(ctx: Context, node: Node, sources: list[Params], params: Params, bounds: tuple[float, float]) -> str:
    """The operator whose result this node quantises, if onnxruntime makes one integer kernel of both; else an empty text.

    It does if everything has one type, nobody else reads the float result, and a clamp in between does nothing. It makes an
    invalid model of a dilated pool.
    """
    if any(source.unsigned != params.unsigned for source in sources):
        return ""
    if (quantised(bounds[0], params), quantised(bounds[1], params)) != (-128, 127):
        return ""
    maker = ctx.producers[node.inputs[0]]
    while len(ctx.consumers[maker.output]) == 1 and maker.output not in ctx.model.outputs:
        if maker.op_type not in PASSED_BY:
            return "" if "dilations" in maker.attributes else maker.op_type
        maker = ctx.producers[maker.inputs[0]]
    return ""
