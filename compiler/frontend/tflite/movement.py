"""Operators that move values: shapes, parts, pads, sizes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from compiler.frontend.errors import ModelError
from compiler.frontend.tflite.arithmetic import Translation
from compiler.frontend.tflite.file import Array, Operator
from compiler.frontend.tflite.windows import activated
from compiler.frontend.tflite.writer import FIRST_AXIS, Writer

REFLECT = 0


def _whole(w: Writer, label: str, values: Any) -> str:
    return w.constant(label, np.array(values, np.int64))


def _moved(w: Writer, op: Operator, number: int, op_type: str, *more: str, first: bool = False, **attributes: Any) -> None:
    """One tensor in another arrangement. The stored values are moved, if both have the same quantisation."""
    x, y = w.tensor(number), w.tensor(op.outputs[0])
    same = (x.dtype, x.scale.tolist(), x.zero_point.tolist()) == (y.dtype, y.scale.tolist(), y.zero_point.tolist())
    source = w.stored(number, first) if same else w.value(number, first)
    result = w.node(op_type, [source, *more], f"{y.name}/{op_type.lower()}", **attributes)
    (w.put_stored if same else w.put)(op.outputs[0], result, first)


def reshaped(w: Writer, op: Operator) -> None:
    y = w.tensor(op.outputs[0])
    _moved(w, op, op.inputs[0], "Reshape", _whole(w, f"{y.name}/shape", y.shape))


def transposed(w: Writer, op: Operator) -> None:
    _moved(w, op, op.inputs[0], "Transpose", perm=w.known(op.inputs[1], "order").reshape(-1).tolist())


def _axes(w: Writer, number: int, values: Array) -> Array:
    """The values of the dimensions, in the order of the map with channels first."""
    if len(w.tensor(number).shape) != 4:
        return values
    found = np.empty_like(values)
    for axis in range(4):
        found[FIRST_AXIS[axis]] = values[axis]
    return found


def padded(w: Writer, op: Operator) -> None:
    y = w.tensor(op.outputs[0])
    sides = _axes(w, op.inputs[0], w.known(op.inputs[1], "pads")).astype(np.int64)
    ends = w.constant(f"{y.name}/pads", sides.T.reshape(-1))
    if op.kind == "MIRROR_PAD":
        if op.option("Mode") != REFLECT:
            raise ModelError(f"{w.where}: tensor {y.name}: pads repeat the edge (SYMMETRIC), which is not known; use REFLECT")
        result = w.node("Pad", [w.value(op.inputs[0], first=True), ends], f"{y.name}/pad", mode="reflect")
    else:
        given = w.value(op.inputs[2]) if op.kind == "PADV2" else w.constant(f"{y.name}/zero", np.float32(0))
        if op.kind == "PADV2":
            given = w.node("Reshape", [given, _whole(w, f"{y.name}/none", np.zeros(0))], f"{y.name}/value")
        result = w.node("Pad", [w.value(op.inputs[0], first=True), ends, given], f"{y.name}/pad")
    w.put(op.outputs[0], result, first=True)


def _axis(w: Writer, number: int, axis: int, first: bool) -> int:
    axis %= len(w.tensor(number).shape)
    return FIRST_AXIS[axis] if first else axis


def joined(w: Writer, op: Operator) -> None:
    first = len(w.tensor(op.outputs[0]).shape) == 4
    label = w.tensor(op.outputs[0]).name
    axis = _axis(w, op.outputs[0], op.option("Axis"), first)
    parts = [w.value(number, first) for number in op.inputs]
    w.put(op.outputs[0], activated(w, op, w.node("Concat", parts, f"{label}/concat", axis=axis)), first)


def stacked(w: Writer, op: Operator) -> None:
    """Joins tensors along a new dimension."""
    y = w.tensor(op.outputs[0])
    axis = op.option("Axis") % len(y.shape)
    where = _whole(w, f"{y.name}/axis", [axis])
    parts = [w.node("Unsqueeze", [w.value(number), where], f"{y.name}/part") for number in op.inputs]
    w.put(op.outputs[0], w.node("Concat", parts, f"{y.name}/stack", axis=axis))


def split(w: Writer, op: Operator) -> None:
    """SPLIT reads the axis and the map; SPLIT_V reads the map, the sizes and the axis."""
    number, axis = (op.inputs[1], op.inputs[0]) if op.kind == "SPLIT" else (op.inputs[0], op.inputs[2])
    first = len(w.tensor(number).shape) == 4
    where = _axis(w, number, int(w.known(axis, "axis").reshape(-1)[0]), first)
    parts = [w.tensor(output) for output in op.outputs]
    own = int(w.known(axis, "axis").reshape(-1)[0]) % len(w.tensor(number).shape)
    sizes = _whole(w, f"{parts[0].name}/sizes", [part.shape[own] for part in parts])
    made = w.several("Split", [w.value(number, first), sizes], [f"{part.name}/part" for part in parts], axis=where)
    for output, result in zip(op.outputs, made, strict=True):
        w.put(output, result, first)


def sliced(w: Writer, op: Operator) -> None:
    x = w.tensor(op.inputs[0])
    begin, size = (w.known(number, "bounds").reshape(-1).astype(np.int64) for number in op.inputs[1:3])
    end = np.where(size < 0, x.shape, begin + size)
    _slice(w, op, begin, end, np.ones_like(begin))


def strided(w: Writer, op: Operator) -> None:
    x, y = w.tensor(op.inputs[0]), w.tensor(op.outputs[0])
    if op.option("EllipsisMask") or op.option("NewAxisMask"):
        raise ModelError(f"{w.where}: tensor {y.name}: a slice with an ellipsis or new axes is not known; name all bounds")
    begin, end, step = (w.known(number, "bounds").reshape(-1).astype(np.int64).copy() for number in op.inputs[1:4])
    size = np.array(x.shape[: len(begin)])
    begin, end = np.where(begin < 0, begin + size, begin), np.where(end < 0, end + size, end)
    least = -size - 1
    for axis in range(len(begin)):
        if op.option("BeginMask") >> axis & 1:
            begin[axis] = 0 if step[axis] > 0 else size[axis] - 1
        if op.option("EndMask") >> axis & 1:
            end[axis] = size[axis] if step[axis] > 0 else least[axis]
        if op.option("ShrinkAxisMask") >> axis & 1:
            end[axis], step[axis] = begin[axis] + 1, 1
    _slice(w, op, begin, end, step, [axis for axis in range(len(begin)) if op.option("ShrinkAxisMask") >> axis & 1])


def _slice(w: Writer, op: Operator, begin: Array, end: Array, step: Array, gone: Sequence[int] = ()) -> None:
    """A slice; the result lacks the dimensions ``gone``, of which it has one index."""
    number = op.inputs[0]
    x, y = w.tensor(number), w.tensor(op.outputs[0])
    first = len(x.shape) == 4 and not gone
    axes = [FIRST_AXIS[axis] if first else axis for axis in range(len(begin))]
    bounds = [_whole(w, f"{y.name}/{name}", values) for name, values in zip("abxs", (begin, end, axes, step), strict=True)]
    result = w.node("Slice", [w.value(number, first), *bounds], f"{y.name}/slice")
    if gone:
        result = w.node("Squeeze", [result, _whole(w, f"{y.name}/gone", gone)], f"{y.name}/shaped")
    w.put(op.outputs[0], result, first)


def resized(w: Writer, op: Operator) -> None:
    """Resizes. Nearest ones round halves up with aligned corners or half-pixel centres, and down otherwise."""
    number = op.inputs[0]
    x, y = w.tensor(number), w.tensor(op.outputs[0])
    corners, centres = bool(op.option("AlignCorners")), bool(op.option("HalfPixelCenters"))
    attributes: dict[str, Any] = {
        "coordinate_transformation_mode": "align_corners" if corners else "half_pixel" if centres else "asymmetric",
        "mode": "linear" if op.kind == "RESIZE_BILINEAR" else "nearest",
    }
    if attributes["mode"] == "nearest":
        attributes["nearest_mode"] = "round_prefer_ceil" if corners or centres else "floor"
    sizes = _whole(w, f"{y.name}/sizes", [x.shape[0], x.shape[3], *y.shape[1:3]])
    result = w.node("Resize", [w.value(number, first=True), "", "", sizes], f"{y.name}/resize", **attributes)
    w.put(op.outputs[0], result, first=True)


def folded(w: Writer, op: Operator) -> None:
    """DEPTH_TO_SPACE and SPACE_TO_DEPTH; in a block, columns come before channels."""
    op_type, more = ("DepthToSpace", {"mode": "DCR"}) if op.kind == "DEPTH_TO_SPACE" else ("SpaceToDepth", {})
    _moved(w, op, op.inputs[0], op_type, first=True, blocksize=op.option("BlockSize"), **more)


def gathered(w: Writer, op: Operator) -> None:
    index = w.known(op.inputs[1], "indices").astype(np.int64)
    label = w.tensor(op.outputs[0]).name
    _moved(w, op, op.inputs[0], "Gather", w.constant(f"{label}/indices", index), axis=op.option("Axis"))


MOVEMENT: dict[str, Translation] = {
    **dict.fromkeys(("RESHAPE", "SQUEEZE", "EXPAND_DIMS"), reshaped), **dict.fromkeys(("PAD", "PADV2", "MIRROR_PAD"), padded),
    **dict.fromkeys(("SPLIT", "SPLIT_V"), split), **dict.fromkeys(("RESIZE_BILINEAR", "RESIZE_NEAREST_NEIGHBOR"), resized),
    **dict.fromkeys(("DEPTH_TO_SPACE", "SPACE_TO_DEPTH"), folded), "CONCATENATION": joined, "GATHER": gathered,
    "PACK": stacked, "SLICE": sliced, "STRIDED_SLICE": strided, "TRANSPOSE": transposed,
}  # fmt: skip
