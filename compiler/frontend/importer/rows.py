"""Softmax and normalisation over the last dimension, between quantised maps, for machines that have ROW."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np
import onnx

from compiler.definitions import rows as definitions
from compiler.definitions.integer_graph import DOMAIN
from compiler.frontend.constraints import general
from compiler.frontend.constraints import rows as constraints
from compiler.frontend.constraints.base import require
from compiler.frontend.importer.context import RULES, Context, rule
from compiler.frontend.importer.layout import AXES, Atom, Layout, axis, last_letters_for, merged
from compiler.frontend.importer.values import Mapped, OfRows, Params
from compiler.frontend.importer.views import arranged
from compiler.frontend.importer.weights import real_constant
from compiler.frontend.model import MICROSOFT, Array, Node
from compiler.xgraph.ops import Finish
from compiler.xgraph.row_operations import Normalisation, Softmax
from isa.rows import RowError, below_root, exponentials, factors

ALONE_SINCE = 13
"""The operator set from which on Softmax has one axis; before, it takes all dimensions from its axis on together."""


@dataclass(frozen=True, eq=False)
class Defined:
    """A node of the model whose oracle is the integer definition of an operation."""

    node: str
    source: str
    params: Params | None
    """The form of the source, if that is float; None if it is stored in 8 bits."""
    target: Params
    op: Softmax | Normalisation


@rule("Softmax")
def softmax(ctx: Context, node: Node) -> None:
    x = _rows(ctx, node)
    _check_axis(node, x.shape, ctx.model.opsets.get("", 0))
    ctx.values[node.output] = OfRows(x, node)


@rule(*constraints.NORMALISATIONS)
def normalisation(ctx: Context, node: Node) -> None:
    x = _rows(ctx, node)
    require(constraints.last_axis, x.shape, node.integer("axis", -1) % len(x.shape))
    require(constraints.one_result, node.outputs)
    require(constraints.factors_constant, _factors(ctx, node), x.shape[-1])
    ctx.values[node.output] = OfRows(x, node)


@rule("QLinearSoftmax", domain=MICROSOFT)
def qlinear_softmax(ctx: Context, node: Node) -> None:
    """Imports QLinearSoftmax. onnxruntime's kernel has a whole number of steps in one: 254 of 1/255."""
    kind = ctx.model.elem(node.output)
    x = replace(_rows(ctx, node), params=ctx.params(node.inputs[1], node.input(2), ctx.model.elem(node.inputs[0])))
    params = ctx.params(node.inputs[3], node.input(4), kind)
    _check_axis(node, x.shape, node.integer("opset", ALONE_SINCE))
    op = _softmax(node, x, 1 / max(1, math.floor(1 / np.float32(params.scale))), params)
    ctx.values[node.output] = _made(ctx, x, op, params, node.output, Defined(node.name, node.inputs[0], None, params, op))


def _rows(ctx: Context, node: Node) -> Mapped:
    x = ctx.mapped(node.inputs[0])
    require(general.at_most_four_dimensions, x.shape)
    require(constraints.row_fits, x.shape[-1])
    return x


def _factors(ctx: Context, node: Node) -> tuple[Array | None, Array | None]:
    """The factors (gamma) and offsets (beta) of a normalisation."""
    return real_constant(ctx, node.inputs[1]), real_constant(ctx, node.input(2)) if node.input(2) else np.zeros(1)


def _check_axis(node: Node, shape: tuple[int, ...], opset: int) -> None:
    old = opset < ALONE_SINCE
    require(constraints.last_axis, shape, node.integer("axis", 1 if old else -1) % len(shape), old)


def finished(ctx: Context, value: OfRows, quantiser: Node, params: Params) -> Mapped:
    """The operation with the name of its node, or of the quantiser if others read the float result, too."""
    x, node = value.source, value.node
    op = _softmax(node, x, params.scale, params) if node.op_type == "Softmax" else _normalisation(ctx, node, x, params)
    if len(ctx.consumers[node.output]) > 1 or node.output in ctx.model.outputs:
        op = replace(op, name=quantiser.name)
    return _made(ctx, x, op, params, quantiser.output, Defined(quantiser.name, node.inputs[0], x.params, params, op))


def _softmax(node: Node, x: Mapped, output_scale: float, params: Params) -> Softmax:
    try:
        found = exponentials(x.params.scale, output_scale)
    except RowError:
        found = None
    require(constraints.numbers_fit, found)
    assert found is not None
    return Softmax(node.name, (), (), *found, Finish(params.zero_point))


def _normalisation(ctx: Context, node: Node, x: Mapped, params: Params) -> Normalisation:
    length = x.shape[-1]
    gamma, beta = _factors(ctx, node)
    assert gamma is not None
    assert beta is not None
    g, b = (np.broadcast_to(value.reshape(-1), length) for value in (gamma, beta))
    try:
        found = (*factors(g, b, params.scale), below_root(float(node.attributes.get("epsilon", 1e-5)), length, x.params.scale))
    except RowError:
        found = None
    require(constraints.numbers_fit, found)
    assert found is not None
    rms = node.op_type != "LayerNormalization"
    return Normalisation(node.name, (), (), *found, rms, x.params.zero_point, Finish(params.zero_point))


def _made(
    ctx: Context, x: Mapped, op: Softmax | Normalisation, params: Params, output: str, defined: Defined | None = None
) -> Mapped:
    """The operation on a map whose channels are the rows."""
    if x.layout.dims[-1] != axis("C", ctx.map_shape(x)[3]):
        x = _in_rows(ctx, x, alike=isinstance(op, Softmax) or (_one(op.g) and _one(op.b)))
    tensor = ctx.tensor(output, ctx.map_shape(x), params)
    made = ctx.add(replace(op, inputs=(x.tensor,), outputs=(tensor,)), x.layout, params)
    final = ctx.made[made.tensor]
    if defined is not None:
        assert isinstance(final, Softmax | Normalisation)
        ctx.defined[final.name] = replace(defined, op=final)
    return made


def _one(numbers: Array) -> bool:
    return bool((numbers == numbers[0]).all())


def _in_rows(ctx: Context, x: Mapped, *, alike: bool) -> Mapped:
    """The tensor in a map whose channels are the rows. With ``alike``, elements of a row may be in any order."""
    letters, last = last_letters_for(len(x.shape)) or "", x.layout.dims[-1]
    if not alike or len(last) < 2:
        return arranged(ctx, x, letters)
    order = sorted(last, key=lambda atom: (AXES.index(atom.axis), -atom.stride))
    made = arranged(ctx, replace(x, layout=Layout((*x.layout.dims[:-1], merged(order)))), letters)
    stride = {atom: math.prod(after.size for after in order[place + 1 :]) for place, atom in enumerate(order)}
    elements = merged(Atom("C", stride[atom], atom.size) for atom in last)
    return replace(made, layout=Layout((*made.layout.dims[:-1], elements)))


@rule(definitions.SOFTMAX, definitions.NORMALISATION, domain=DOMAIN)
def defined(ctx: Context, node: Node) -> None:
    """Imports a call of an integer definition, which has the operation's integers; an imported model has such calls."""
    x = _rows(ctx, node)
    require(general.eight_bits, ctx.model.elem(node.output))
    inputs = zip(definitions.INPUTS[node.op_type], node.inputs, strict=True)
    numbers = {role: ctx.model.constants[name] for role, name in inputs if role != "x"}
    ends = {"x": node.inputs[0], "y": node.output}
    above = {end: 128 if ctx.model.elem(name) == onnx.TensorProto.UINT8 else 0 for end, name in ends.items()}
    zero, low, high = (int(numbers[name]) - above["y"] for name in ("zero_point", "low", "high"))
    finish = Finish(zero, low, high)
    op: Softmax | Normalisation
    if node.op_type == definitions.SOFTMAX:
        op = Softmax(node.name, (), (), numbers["e"], numbers["t"], finish)
    else:
        shift = definitions.DIVISORS.index(int(numbers["divisor"]))
        zero_point = int(numbers["x_zero_point"]) - above["x"]
        k, rms = int(numbers["k"]), not numbers["centred"]
        op = Normalisation(node.name, (), (), numbers["g"], numbers["b"], shift, k, rms, zero_point, finish)
    ctx.values[node.output] = _made(ctx, x, op, ctx.host_params(node.output), node.output)


OF_ROWS = frozenset(key for key, function in RULES.items() if function.__module__ == __name__)
"""The operators that ROW computes."""
