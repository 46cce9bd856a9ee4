"""Functions of each element, of two maps, and over dimensions."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np
import onnx

from compiler.frontend.errors import ModelError
from compiler.frontend.tflite.file import Operator
from compiler.frontend.tflite.windows import activated, clipped
from compiler.frontend.tflite.writer import FIRST_AXIS, TO_FIRST, Writer

Translation = Callable[[Writer, Operator], None]
UNARY = {
    "ABS": "Abs", "CEIL": "Ceil", "COS": "Cos", "ELU": "Elu", "EXP": "Exp", "FLOOR": "Floor", "HARD_SWISH": "HardSwish",
    "LOG": "Log", "LOGISTIC": "Sigmoid", "NEG": "Neg", "RELU": "Relu", "ROUND": "Round", "SIGN": "Sign", "SIN": "Sin",
    "SQRT": "Sqrt", "TANH": "Tanh",
}  # fmt: skip
CLIPS = {"RELU6": (0, 6), "RELU_N1_TO_1": (-1, 1), "RELU_0_TO_1": (0, 1)}
BINARY = {
    "ADD": "Add", "SUB": "Sub", "MUL": "Mul", "DIV": "Div", "MAXIMUM": "Max", "MINIMUM": "Min", "POW": "Pow",
    "PRELU": "PRelu",
}  # fmt: skip
REDUCTIONS = {
    "MEAN": "ReduceMean", "SUM": "ReduceSum", "REDUCE_MAX": "ReduceMax", "REDUCE_MIN": "ReduceMin", "REDUCE_PROD": "ReduceProd",
}  # fmt: skip


def unary(w: Writer, op: Operator, op_type: str) -> None:
    _of_one(w, op, lambda x, label: w.node(op_type, [x], label))


def _of_one(w: Writer, op: Operator, made: Callable[[str, str], str]) -> None:
    label = f"{w.tensor(op.outputs[0]).name}/function"
    w.put(op.outputs[0], made(w.value(op.inputs[0], first=True), label), first=True)


def bounded(w: Writer, op: Operator) -> None:
    _of_one(w, op, lambda x, label: clipped(w, x, label, *CLIPS[op.kind]))


def leaky(w: Writer, op: Operator) -> None:
    _of_one(w, op, lambda x, label: w.node("LeakyRelu", [x], label, alpha=op.option("Alpha")))


def gelu(w: Writer, op: Operator) -> None:
    approximate = "tanh" if op.option("Approximate", default=False) else "none"
    _of_one(w, op, lambda x, label: w.node("Gelu", [x], label, approximate=approximate))


def square(w: Writer, op: Operator) -> None:
    _of_one(w, op, lambda x, label: w.node("Mul", [x, x], label))


def inverse_root(w: Writer, op: Operator) -> None:
    _of_one(w, op, lambda x, label: w.node("Reciprocal", [w.node("Sqrt", [x], f"{label}/root")], label))


def binary(w: Writer, op: Operator) -> None:
    """An operator of two tensors. Channels come first if every operand has four dimensions, or can get them."""
    label = w.tensor(op.outputs[0]).name
    first = len(w.tensor(op.outputs[0]).shape) == 4 and all(
        len(w.tensor(n).shape) in (0, 4) or w.tensor(n).data is not None for n in op.inputs
    )
    a, b = (_operand(w, number, first) for number in op.inputs)
    w.put(op.outputs[0], activated(w, op, w.node(BINARY[op.kind], [a, b], f"{label}/of_two")), first)


def squared_difference(w: Writer, op: Operator) -> None:
    label = w.tensor(op.outputs[0]).name
    difference = w.node("Sub", [w.value(number) for number in op.inputs], f"{label}/difference")
    w.put(op.outputs[0], w.node("Mul", [difference, difference], f"{label}/square"))


def _operand(w: Writer, number: int, first: bool) -> str:
    tensor = w.tensor(number)
    if not first or len(tensor.shape) == 4 or tensor.data is None or tensor.data.size == 1:
        return w.value(number, first)
    wide = tensor.data.reshape((1,) * (4 - tensor.data.ndim) + tensor.data.shape)
    return w.shaped(number, wide.transpose(TO_FIRST))


def reduced(w: Writer, op: Operator) -> None:
    x, y = w.tensor(op.inputs[0]), w.tensor(op.outputs[0])
    given = sorted(int(axis) % len(x.shape) for axis in w.known(op.inputs[1], "axes").reshape(-1))
    keep = bool(op.option("KeepDims"))
    # Without its rows and columns a map is the same in both orders.
    first = len(x.shape) == 4 and (keep or {1, 2} <= {*given})
    axes = w.constant(f"{y.name}/axes", np.array([FIRST_AXIS[axis] if first else axis for axis in given], np.int64))
    result = w.node(REDUCTIONS[op.kind], [w.value(op.inputs[0], first), axes], f"{y.name}/reduced", keepdims=int(keep))
    w.put(op.outputs[0], result, first and keep)


def softmax(w: Writer, op: Operator) -> None:
    x, label = w.value(op.inputs[0]), w.tensor(op.outputs[0]).name
    beta = op.option("Beta", default=1.0)
    if beta != 1:
        x = w.node("Mul", [x, w.constant(f"{label}/beta", np.float32(beta))], f"{label}/scaled")
    w.put(op.outputs[0], w.node("LogSoftmax" if op.kind == "LOG_SOFTMAX" else "Softmax", [x], f"{label}/softmax", axis=-1))


def normalised(w: Writer, op: Operator) -> None:
    """Normalises to length 1 along the last dimension."""
    label = w.tensor(op.outputs[0]).name
    w.put(op.outputs[0], activated(w, op, w.node("LpNormalization", [w.value(op.inputs[0])], f"{label}/length", axis=-1, p=2)))


def greatest(w: Writer, op: Operator) -> None:
    """The index of the greatest, or least, value along a dimension."""
    y = w.tensor(op.outputs[0])
    axis = int(w.known(op.inputs[1], "axis").reshape(-1)[0])
    op_type = "ArgMax" if op.kind == "ARG_MAX" else "ArgMin"
    found = w.node(op_type, [w.value(op.inputs[0])], f"{y.name}/index", axis=axis, keepdims=0)
    kind = onnx.helper.np_dtype_to_tensor_dtype(y.dtype)
    w.put_stored(op.outputs[0], w.node("Cast", [found], f"{y.name}/cast", to=kind))


def product(w: Writer, op: Operator) -> None:
    """The product of two tensors, either of them with its last two dimensions exchanged."""
    label = w.tensor(op.outputs[0]).name
    sides = []
    for number, exchanged in zip(op.inputs, (op.option("AdjX"), op.option("AdjY")), strict=True):
        x, rank = w.value(number), len(w.tensor(number).shape)
        perm = (*range(rank - 2), rank - 1, rank - 2)
        sides.append(w.node("Transpose", [x], f"{label}/exchanged", perm=perm) if exchanged else x)
    w.put(op.outputs[0], w.node("MatMul", sides, f"{label}/product"))


def requantised(w: Writer, op: Operator) -> None:
    """QUANTIZE and DEQUANTIZE: the same values in another form."""
    w.put(op.outputs[0], w.value(op.inputs[0], first=True), first=True)


def cast(w: Writer, op: Operator) -> None:
    x, y = (w.tensor(numbers[0]) for numbers in (op.inputs, op.outputs))
    if x.quantised or y.quantised:
        raise ModelError(f"{w.where}: tensor {y.name}: CAST between quantised values is not known; convert with QUANTIZE")
    kind = onnx.helper.np_dtype_to_tensor_dtype(y.dtype)
    w.put_stored(op.outputs[0], w.node("Cast", [w.stored(op.inputs[0], first=True)], f"{y.name}/cast", to=kind), first=True)


ARITHMETIC: dict[str, Translation] = {
    **{kind: partial(unary, op_type=op_type) for kind, op_type in UNARY.items()},
    **dict.fromkeys(CLIPS, bounded), **dict.fromkeys(BINARY, binary), **dict.fromkeys(REDUCTIONS, reduced),
    "ARG_MAX": greatest, "ARG_MIN": greatest, "BATCH_MATMUL": product, "CAST": cast, "DEQUANTIZE": requantised,
    "GELU": gelu, "L2_NORMALIZATION": normalised, "LEAKY_RELU": leaky, "LOG_SOFTMAX": softmax, "QUANTIZE": requantised,
    "RSQRT": inverse_root, "SOFTMAX": softmax, "SQUARE": square, "SQUARED_DIFFERENCE": squared_difference,
}  # fmt: skip
