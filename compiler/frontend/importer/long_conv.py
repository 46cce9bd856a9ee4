"""Convolutions of 16-bit inputs or outputs, as ``compiler/frontend/long_layers.py`` writes them."""

from __future__ import annotations

import numpy as np

from compiler.definitions import long_maps as definitions
from compiler.definitions.integer_graph import DOMAIN
from compiler.frontend.constraints import long_layers as constraints
from compiler.frontend.constraints.base import require
from compiler.frontend.importer.context import Context, rule
from compiler.frontend.importer.geometry import window_of
from compiler.frontend.importer.layout import letters_for, map_shape, plain
from compiler.frontend.importer.linear import as_one_pixel, memory_rank, whole_map
from compiler.frontend.importer.requantise import requantisation
from compiler.frontend.importer.values import Mapped
from compiler.frontend.importer.views import arranged
from compiler.frontend.model import Array, Node
from compiler.xgraph.long_conv import LongConv
from compiler.xgraph.ops import Finish, Int8


@rule(*definitions.CONVOLUTIONS, domain=DOMAIN)
def long_convolution(ctx: Context, node: Node) -> None:
    x16, y16 = definitions.CONVOLUTIONS[node.op_type]
    given = {
        role: ctx.model.constants[name]
        for role, name in list(zip(definitions.INPUTS[node.op_type], node.inputs, strict=True))[1:]
    }
    lanes = int(given["apart" if x16 else "y_apart"][3])
    require(constraints.long_built, lanes, ctx.extras.long)
    letters, out = letters_for(4), ctx.shape(node.output)
    assert letters is not None
    stored = (given["w"].astype(np.int16) - definitions.SIGN).astype(np.int8)
    groups = node.integer(definitions.GROUP, 1)
    x, weights = _operands(ctx, ctx.mapped(node.inputs[0]), stored, groups)
    _, h, w, _ = ctx.map_shape(x)
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
    window = window_of(node, (h, w), weights.shape[1:3], out[2:])
    op = LongConv(
        node.name, (x.tensor,), (tensor,), window, weights,
        requantisation(bias, given["scale"].reshape(-1)), _finish(given, params.unsigned), x16, y16, lanes, *pads, groups,
    )  # fmt: skip
    ctx.values[node.output] = ctx.add(op, plain(letters, out), params)


def _operands(ctx: Context, x: Mapped, weights: Int8, groups: int) -> tuple[Mapped, Int8]:
    """The map, and the weights in the order of its channels; a flattened map is reduced in its own order."""
    whole = whole_map(ctx, x) if groups == 1 else None
    if whole is None:
        letters = letters_for(len(x.shape))
        assert letters is not None
        return arranged(ctx, x, letters), np.ascontiguousarray(weights.transpose(0, 2, 3, 1))
    atoms = weights.reshape(len(weights), *(a.size for a in whole))
    turned = atoms.transpose(0, *(1 + i for i in memory_rank(x.layout)))
    return as_one_pixel(ctx, x), np.ascontiguousarray(turned).reshape(len(weights), 1, 1, -1)


@rule(definitions.SPLIT, definitions.JOIN, domain=DOMAIN)
def on_the_host(ctx: Context, node: Node) -> None:
    """Refuses conversions between 16-bit tensors and maps: only the host has 16-bit tensors."""
    require(constraints.long_edges)


def _finish(given: dict[str, Array], unsigned: bool) -> Finish:
    above = definitions.SIGN if unsigned else 0
    zero_point, low, high = (int(given[name]) - above for name in ("zero_point", "low", "high"))
    return Finish(zero_point, low, high)
