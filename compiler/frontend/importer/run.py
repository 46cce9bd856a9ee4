"""Walks a quantised model once, node by node, and calls the rule of each operator."""

from __future__ import annotations

from collections.abc import Mapping

from compiler.frontend.checks import finite
from compiler.frontend.constraints import general
from compiler.frontend.constraints.base import Unsupported, require
from compiler.frontend.extras import NO_EXTRAS, Extras
from compiler.frontend.importer import (
    elementwise,
    linear,
    long_conv,
    movement,
    normalised,
    pads,
    pools,
    quantisation,
    resize,
    rows,
    transposed,
)
from compiler.frontend.importer.context import RULES, Context
from compiler.frontend.model import Model

FAMILIES = (elementwise, linear, long_conv, movement, normalised, pads, pools, quantisation, resize, rows, transposed)
"""The modules whose import declares the rules."""


def interpreted(model: Model, refused: Mapping[str, str], extras: Extras = NO_EXTRAS) -> Context:
    """All that the machine can compute of the model, and a reason for every node that it cannot.

    ``refused`` has nodes that are left out, with reasons. ``extras`` are those of the machine.
    """
    ctx = Context(model, extras)
    for node in model.nodes:
        ctx.current = node.name
        if node.name in refused:
            ctx.reasons[node.name] = refused[node.name]
            continue
        key = (node.domain, node.op_type)
        rule = RULES.get(key)
        if rule is None or (key in rows.OF_ROWS and not extras.rows):
            ctx.reasons[node.name] = f"no unit of the machine computes {node.op_type}"
            continue
        try:
            require(general.finite_constants, finite(model, node))
            rule(ctx, node)
        except Unsupported as refusal:
            ctx.reasons[node.name], ctx.failed[node.name] = refusal.reason, refusal.constraint
    return ctx
