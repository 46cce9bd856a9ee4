"""Folds paddings that are operations of their own into the windows that read them."""

from __future__ import annotations

from dataclasses import replace

from compiler.xgraph.graph import XGraph
from compiler.xgraph.ops import Conv, Op, Pool, PoolKind

MOST_PAD = 255


def fold_pads(graph: XGraph) -> XGraph:
    """Moves each pad into all its readers, if each of them is a window that pads with the same value or not at all."""
    folded: dict[str, Pool] = {}
    for op in graph.ops:
        if is_pad(op) and op.output not in graph.outputs:
            readers = graph.consumers(op.output)
            if readers and all(_takes(reader, op) for reader in readers):
                assert isinstance(op, Pool)
                folded[op.output] = op
    ops = []
    for op in graph.ops:
        if op.outputs and op.output in folded:
            continue
        pad = folded.get(op.inputs[0]) if op.inputs else None
        if pad is not None:
            assert isinstance(op, Conv | Pool)
            (t, le, b, r), (t_p, l_p, b_p, r_p) = op.window.pads, pad.window.pads
            pads = (t + t_p, le + l_p, b + b_p, r + r_p)
            value = pad.pad_value if not any(op.window.pads) else op.pad_value
            window = replace(op.window, pads=pads)
            op = replace(op, window=window, pad_value=value, inputs=pad.inputs)
        ops.append(op)
    return graph.with_ops(ops)


def is_pad(op: Op) -> bool:
    """Whether the operation only pads: a maximum over one pixel without a table or a clamp."""
    return (
        isinstance(op, Pool) and op.kind is PoolKind.MAX and op.window.kernel == (1, 1) and op.window.stride == (1, 1)
        and op.finish.table is None and (op.finish.zero_point, op.finish.lo, op.finish.hi) == (0, -128, 127)
    )  # fmt: skip


def _takes(reader: Op, pad: Op) -> bool:
    assert isinstance(pad, Pool)
    if not isinstance(reader, Conv | Pool) or (
        isinstance(reader, Pool) and reader.kind is PoolKind.AVERAGE and not reader.count_pad
    ):
        return False
    fits = max(a + b for a, b in zip(reader.window.pads, pad.window.pads, strict=True)) <= MOST_PAD
    return fits and (not any(reader.window.pads) or reader.pad_value == pad.pad_value) and not is_pad(reader)
