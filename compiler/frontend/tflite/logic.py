"""Comparisons, choices, and operators that repeat values; computed shapes are made of these, too."""

from __future__ import annotations

from functools import partial

import numpy as np
import onnx

from compiler.frontend.tflite.arithmetic import Translation
from compiler.frontend.tflite.file import Operator
from compiler.frontend.tflite.writer import Writer

COMPARISONS = {
    "EQUAL": "Equal", "GREATER": "Greater", "GREATER_EQUAL": "GreaterOrEqual", "LESS": "Less", "LESS_EQUAL": "LessOrEqual",
    "LOGICAL_AND": "And", "LOGICAL_OR": "Or",
}  # fmt: skip


def compared(w: Writer, op: Operator) -> None:
    made = w.node(COMPARISONS[op.kind], [w.value(number) for number in op.inputs], f"{w.tensor(op.outputs[0]).name}/compared")
    w.put_stored(op.outputs[0], made)


def unequal(w: Writer, op: Operator) -> None:
    label = w.tensor(op.outputs[0]).name
    equal = w.node("Equal", [w.value(number) for number in op.inputs], f"{label}/equal")
    w.put_stored(op.outputs[0], w.node("Not", [equal], f"{label}/unequal"))


def negated(w: Writer, op: Operator) -> None:
    w.put_stored(op.outputs[0], w.node("Not", [w.value(op.inputs[0])], f"{w.tensor(op.outputs[0]).name}/not"))


def selected(w: Writer, op: Operator) -> None:
    label = w.tensor(op.outputs[0]).name
    w.put(op.outputs[0], w.node("Where", [w.value(number) for number in op.inputs], f"{label}/where"))


def repeated(w: Writer, op: Operator, op_type: str) -> None:
    """TILE and BROADCAST_TO: the first reads counts, the second a shape."""
    label = w.tensor(op.outputs[0]).name
    counts = w.constant(f"{label}/counts", w.known(op.inputs[1], "counts").reshape(-1).astype(np.int64))
    w.put(op.outputs[0], w.node(op_type, [w.value(op.inputs[0]), counts], f"{label}/repeated"))


def filled(w: Writer, op: Operator) -> None:
    label = w.tensor(op.outputs[0]).name
    shape = w.constant(f"{label}/shape", w.known(op.inputs[0], "shape").reshape(-1).astype(np.int64))
    w.put_stored(op.outputs[0], w.node("Expand", [w.stored(op.inputs[1]), shape], f"{label}/filled"))


def ranged(w: Writer, op: Operator) -> None:
    w.put_stored(op.outputs[0], w.node("Range", [w.stored(n) for n in op.inputs], f"{w.tensor(op.outputs[0]).name}/range"))


def counted(w: Writer, op: Operator) -> None:
    """RANK: the number of a tensor's dimensions."""
    y = w.tensor(op.outputs[0])
    w.put_stored(op.outputs[0], w.constant(f"{y.name}/rank", np.array(len(w.tensor(op.inputs[0]).shape), y.dtype)))


def shaped(w: Writer, op: Operator) -> None:
    """SHAPE: the sizes of a tensor."""
    y = w.tensor(op.outputs[0])
    w.put_stored(op.outputs[0], w.constant(f"{y.name}/sizes", np.array(w.tensor(op.inputs[0]).shape, y.dtype)))


def divided_down(w: Writer, op: Operator) -> None:
    label = w.tensor(op.outputs[0]).name
    quotient, kind = [w.value(number) for number in op.inputs], w.tensor(op.outputs[0]).dtype
    if kind.kind == "f":
        w.put(op.outputs[0], w.node("Floor", [w.node("Div", quotient, f"{label}/quotient")], f"{label}/floor"))
        return
    real = [w.node("Cast", [name], f"{label}/real", to=onnx.TensorProto.DOUBLE) for name in quotient]
    floor = w.node("Floor", [w.node("Div", real, f"{label}/quotient")], f"{label}/floor")
    whole = onnx.helper.np_dtype_to_tensor_dtype(kind)
    w.put_stored(op.outputs[0], w.node("Cast", [floor], f"{label}/whole", to=whole))


LOGIC: dict[str, Translation] = {
    **dict.fromkeys(COMPARISONS, compared), "NOT_EQUAL": unequal, "LOGICAL_NOT": negated,
    **dict.fromkeys(("SELECT", "SELECT_V2"), selected), "TILE": partial(repeated, op_type="Tile"),
    "BROADCAST_TO": partial(repeated, op_type="Expand"), "FILL": filled, "RANGE": ranged, "RANK": counted,
    "SHAPE": shaped, "FLOOR_DIV": divided_down,
}  # fmt: skip
