"""Convolutions of 16-bit inputs or outputs, as ``compiler/frontend/long_layers.py`` writes them."""

from __future__ import annotations

import numpy as np

from compiler.definitions import long_conv as definitions
from compiler.definitions.integer_graph import DOMAIN
from compiler.frontend.constraints import long_layers as constraints
from compiler.frontend.constraints.base import require
from compiler.frontend.importer.context import Context, rule
from compiler.frontend.importer.geometry import window_of
from compiler.frontend.importer.layout import letters_for, map_shape, plain
from compiler.frontend.importer.requantise import requantisation
from compiler.frontend.importer.views import arranged
from compiler.frontend.model import Array, Node
from compiler.xgraph.long_conv import LongConv
from compiler.xgraph.ops import Finish


@rule(*definitions.CONVOLUTIONS, domain=DOMAIN)
def long_convolution(ctx: Context, node: Node) -> None:
    x16, y16 = definitions.CONVOLUTIONS[node.op_type]
    given = {
        role: ctx.model.constants[name]
        for role, name in list(zip(definitions.INPUTS[node.op_type], node.inputs, strict=True))[1:]
    }
    lanes = int(given["apart" if x16 else "y_apart"][3])
    require(constraints.long_built, lanes, ctx.extras.long)
    letters = letters_for(4)
    assert letters is not None
    x, out = arranged(ctx, ctx.mapped(node.inputs[0]), letters), ctx.shape(node.output)
    weights = (given["w"].astype(np.int16) - definitions.SIGN).astype(np.int8).transpose(0, 2, 3, 1)
    sums = weights.astype(np.int64).sum(axis=(1, 2, 3))
    if x16:
        pads = int(given["x_high"]) - definitions.SIGN, int(given["x_low"]) - definitions.SIGN
        offset = definitions.BYTE * pads[0] + pads[1]
    else:
        pads = int(given["x_zero_point"]) - definitions.SIGN, 0
        offset = pads[0]
    bias = given["bias"].reshape(-1) - offset * sums
    require(constraints.long_bias, bias)
    params = ctx.host_params(node.output)
    tensor = ctx.tensor(node.output, map_shape(letters, out), params)
    window = window_of(node, x.shape[2:], weights.shape[1:3], out[2:])
    op = LongConv(
        node.name, (x.tensor,), (tensor,), window, np.ascontiguousarray(weights),
        requantisation(bias, given["scale"].reshape(-1)), _finish(given, params.unsigned), x16, y16, lanes, *pads,
    )  # fmt: skip
    ctx.values[node.output] = ctx.add(op, plain(letters, out), params)


@rule(definitions.SPLIT, definitions.JOIN, domain=DOMAIN)
def on_the_host(ctx: Context, node: Node) -> None:
    """The machine has bytes alone."""
    require(constraints.long_edges)


def _finish(given: dict[str, Array], unsigned: bool) -> Finish:
    above = definitions.SIGN if unsigned else 0
    zero_point, low, high = (int(given[name]) - above for name in ("zero_point", "low", "high"))
    return Finish(zero_point, low, high)
