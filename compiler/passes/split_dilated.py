"""Splits a dilated convolution into dense convolutions of every d-th row, whose windows span fewer rows and so fit on chip.

Output row ``y`` reads the input rows ``y - p + k d``. Let ``y = r + d j`` and ``r - p = d q + t``. Then it reads row
``j + k + q`` of the rows ``t, t + d, t + 2 d, ...``. So each of the ``d`` classes ``r`` of output rows is a convolution without
dilation, of one such slice. Interleaving their outputs gives the whole.
"""

from __future__ import annotations

from dataclasses import replace

from compiler.passes.cut_taps import with_less_taps
from compiler.xgraph.graph import XGraph
from compiler.xgraph.ops import Conv, Interleave, Op, Slice
from compiler.xgraph.tensor import Tensor
from compiler.xgraph.verify import verify

PARTS = "/rows"
"""Stands between an operation's name and the number of its part."""


def split_dilated(graph: XGraph, op: Op) -> XGraph | None:
    """The graph with this operation split by rows. None: it is no convolution that dilates over rows, or cannot be split."""
    if not isinstance(op, Conv) or op.window.dilation[0] == 1 or op.window.stride[0] != 1:
        return None
    source, target = graph.tensors[op.inputs[0]], graph.tensors[op.output]
    parts = _parts(op, source, target)
    if parts is None:
        return None
    made: list[Op] = []
    tensors = dict(graph.tensors)
    for taken, read, part, out in parts:
        tensors |= {read.name: read, out.name: out}
        made += [taken, part]
    joined = Interleave(op.name, tuple(out.name for *_, out in parts), op.outputs, (len(parts), 1))
    ops = [new for old in graph.ops for new in ([*made, joined] if old is op else [old])]
    return verify(graph.with_ops(ops, tensors))


def _parts(op: Conv, source: Tensor, target: Tensor) -> list[tuple[Slice, Tensor, Conv, Tensor]] | None:
    """For each class of output rows: the slice, the map that it makes, the convolution, and the map that it makes."""
    (top, left, _, right), d, taps = op.window.pads, op.window.dilation[0], op.window.kernel[0]
    found = []
    for number in range(min(d, target.height)):
        rows = len(range(number, target.height, d))
        before, first = divmod(number - top, d)
        first += max(before, 0) * d
        above = max(-before, 0)
        read = len(range(first, source.height, d))
        if read < 1:
            return None
        name = f"{op.name}{PARTS}{number}"
        part = replace(source, name=f"{name}/in", shape=(source.batch, read, source.width, source.channels))
        made = replace(target, name=f"{name}/out", shape=(target.batch, rows, target.width, target.channels))
        below = rows - 1 + taps - above - read
        window = replace(op.window, dilation=(1, op.window.dilation[1]), pads=(above, left, below, right))
        conv = replace(op, name=name, inputs=(part.name,), outputs=(made.name,), window=window)
        taken = Slice(f"{name}/take", op.inputs, (part.name,), (first, 0, 0), (d, 1))
        found.append((taken, part, with_less_taps(conv, part, made), made))
    return found
