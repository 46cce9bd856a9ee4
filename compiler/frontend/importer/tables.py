"""Functions of one quantised tensor: onnxruntime computes all 256 values, and the simplest exact form is used."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import onnx
from numpy.typing import NDArray

from compiler.frontend.constraints.elementwise import UNARY
from compiler.frontend.importer.context import EIGHT_BITS, Context
from compiler.frontend.importer.requantise import factors, least_form
from compiler.frontend.importer.values import Mapped, Params
from compiler.frontend.model import Node, TensorType, part_proto, scalar
from compiler.frontend.session import run_session, session
from compiler.xgraph.ops import Eltwise, EltwiseKind, Finish

Int8 = NDArray[np.int8]
TABLE_OPERATORS = frozenset({*UNARY, "QLinearLeakyRelu", "QLinearSigmoid"}) - {"Relu", "Clip"}
"""Functions that need a table, if no clamp and no multiplication gives the same."""
CODES = np.arange(256, dtype=np.uint8)
VALUES = CODES.view(np.int8)
"""The value that each table entry stands for."""


def function_of(ctx: Context, node: Node) -> Int8:
    """The table of a node's int8 output as a function of the one quantised tensor that it depends on."""
    if node.op_type == "Clip" and ctx.model.elem(node.inputs[0]) == onnx.TensorProto.INT8:
        low, high = (ctx.constant(node.input(i)) for i in (1, 2))
        return np.clip(VALUES, -128 if low is None else scalar(low), 127 if high is None else scalar(high))
    nodes: dict[str, Node] = {}
    feeds: dict[str, NDArray[np.uint8] | Int8 | NDArray[np.float32]] = {}
    types = dict(ctx.model.types)

    def read(current: Node) -> list[Node]:
        """The nodes that must run before this one; an input that is a tensor of the machine is fed instead."""
        makers = []
        for name in current.reads():
            if name in ctx.model.constants:
                continue
            value = ctx.values.get(name)
            if not isinstance(value, Mapped):
                makers.append(ctx.producers[name])
                continue
            types[name] = TensorType(ctx.model.elem(name), (256,))
            if ctx.model.elem(name) in EIGHT_BITS:
                feeds[name] = CODES ^ 0x80 if value.params.unsigned else VALUES
            else:  # the result of DequantizeLinear, perhaps moved since
                steps = VALUES.astype(np.int32) - value.params.zero_point
                feeds[name] = steps.astype(np.float32) * np.float32(value.params.scale)
        return makers

    waiting = [node]
    while waiting:  # A maker runs before its readers. The model may be deeper than calls can be.
        current = waiting.pop()
        if current.name in nodes:
            continue
        makers = [maker for maker in read(current) if maker.name not in nodes]
        if makers:
            waiting += [current, *reversed(makers)]
        else:
            nodes[current.name] = current
    types[node.output] = TensorType(ctx.model.elem(node.output), None)
    part = part_proto(replace(ctx.model, types=types), list(nodes.values()), list(feeds), [node.output])
    result = run_session(session(part, threads=1), feeds)[node.output].reshape(-1)
    return (result ^ 0x80).view(np.int8) if result.dtype == np.uint8 else result


def applied(ctx: Context, source: Mapped, table: Int8, params: Params, name: str, label: str) -> Mapped:
    """The map after a table: the same map, a clamp, a multiplication or the table, whichever is the simplest that is exact."""
    lo, hi = int(table.min()), int(table.max())
    same = source.params.unsigned == params.unsigned
    if (table == VALUES).all() and same:
        return replace(source, params=params)
    if (table == np.clip(VALUES, lo, hi)).all():
        m, c, shift, finish = 1, 0, 0, Finish(0, lo, hi)
    else:
        m, c, shift, finish = _linear(source.params, params, table) or (1, 0, 0, Finish(table=table))
    tensor = ctx.tensor(name, ctx.map_shape(source), params)
    op = Eltwise(label, (source.tensor,), (tensor,), EltwiseKind.PASS, m, 0, c, shift, finish)
    return ctx.add(op, source.layout, params)


def _linear(source: Params, target: Params, table: Int8) -> tuple[int, int, int, Finish] | None:
    """The factor, constant, shift and finish that give the table for all 256 values; None if there are none."""
    (m,), shift = factors(source.scale / target.scale)
    for after in (True, False):
        c = -source.zero_point * m + (0 if after else target.zero_point << shift)
        finish = Finish(target.zero_point if after else 0, int(table.min()), int(table.max()))
        exact = np.ldexp(VALUES.astype(np.float64) * m + c, -shift)
        found = np.clip(np.rint(exact) + finish.zero_point, finish.lo, finish.hi)
        if (found == table).all():
            (m,), c, shift = least_form((m,), c, shift)
            return m, c, shift, finish
    return None
