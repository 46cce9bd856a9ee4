"""QuantizeLinear and DequantizeLinear: where values get their int8 form, and where they show their float image."""

from __future__ import annotations

from dataclasses import replace

from compiler.frontend.constraints import general
from compiler.frontend.constraints.base import require
from compiler.frontend.importer import linear, pairs, pools
from compiler.frontend.importer.context import Context, rule
from compiler.frontend.importer.tables import applied, function_of
from compiler.frontend.importer.values import Linear, Mapped, Mean, Pair, Params, Unary
from compiler.frontend.model import Node


@rule("DequantizeLinear")
def dequantize(ctx: Context, node: Node) -> None:
    if node.inputs[0] in ctx.model.constants:
        return
    require(general.eight_bits, ctx.model.elem(node.inputs[0]))
    params = ctx.params(node.inputs[1], node.input(2), ctx.model.elem(node.inputs[0]))
    ctx.values[node.output] = replace(ctx.mapped(node.inputs[0]), params=params)


@rule("QuantizeLinear")
def quantize(ctx: Context, node: Node) -> None:
    value = ctx.value(node.inputs[0])
    require(general.made_on_machine, value)
    params = ctx.params(node.inputs[1], node.input(2), ctx.model.elem(node.output))
    ctx.values[node.output] = settled(ctx, node, params)


def settled(ctx: Context, node: Node, params: Params) -> Mapped:
    """What awaited its quantisation gets it from this node."""
    value = ctx.value(node.inputs[0])
    match value:
        case Mapped():
            if value.params == params:
                return value
            return applied(ctx, value, function_of(ctx, node), params, node.output, node.name)
        case Unary():
            return applied(ctx, value.source, function_of(ctx, node), params, node.output, node.name)
        case Linear():
            return linear.finished(ctx, value, params, node.output)
        case Pair():
            return pairs.finished(ctx, value, params, node.output, node.name)
        case Mean():
            return pools.finished(value, params, node.output)
    raise AssertionError(value)
