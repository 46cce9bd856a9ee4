"""Convolutions, pools and dense layers."""

from __future__ import annotations

import struct
from collections.abc import Callable
from functools import partial

import numpy as np

from compiler.frontend.errors import ModelError
from compiler.frontend.tflite.file import Operator
from compiler.frontend.tflite.writer import Writer

ACTIVATIONS = ("NONE", "RELU", "RELU_N1_TO_1", "RELU6", "TANH", "SIGN_BIT")
SAME, CUSTOM_SAME = 0, 1
"""The value of SAME padding in options of the format, and in options that MediaPipe hands to its own operators."""


def activated(w: Writer, op: Operator, result: str) -> str:
    """The result after the activation that the operator has."""
    label = w.tensor(op.outputs[0]).name
    match ACTIVATIONS[op.option("FusedActivationFunction")]:
        case "NONE":
            return result
        case "RELU":
            return w.node("Relu", [result], f"{label}/relu")
        case "TANH":
            return w.node("Tanh", [result], f"{label}/tanh")
        case "RELU6":
            return clipped(w, result, label, 0, 6)
        case "RELU_N1_TO_1":
            return clipped(w, result, label, -1, 1)
        case name:
            raise ModelError(f"{w.where}: tensor {label}: activation {name} is not known; convert the model without it")


def clipped(w: Writer, result: str, label: str, low: float, high: float) -> str:
    bounds = [w.constant(f"{label}/{name}", np.float32(bound)) for name, bound in (("least", low), ("most", high))]
    return w.node("Clip", [result, *bounds], f"{label}/clip")


Sides = tuple[int, ...]
"""Rows and columns."""
Pads = Callable[[Sides, Sides, Sides, Sides], list[int]]


def pads(op: Operator, sizes: Sides, kernel: Sides, strides: Sides, dilations: Sides) -> list[int]:
    """The pads of top, left, bottom and right."""
    return same_pads(sizes, kernel, strides, dilations) if op.option("Padding") == SAME else [0] * 4


def same_pads(sizes: Sides, kernel: Sides, strides: Sides, dilations: Sides) -> list[int]:
    """The pads with which a window begins at every stride."""
    ends = []
    for size, taps, stride, dilation in zip(sizes, kernel, strides, dilations, strict=True):
        reach = (taps - 1) * dilation + 1
        ends.append(max((-(-size // stride) - 1) * stride + reach - size, 0))
    return [end // 2 for end in ends] + [end - end // 2 for end in ends]


def convolution(w: Writer, op: Operator) -> None:
    """A convolution. The weights of CONV_2D are O, H, W, I; those of DEPTHWISE_CONV_2D are 1, H, W, O."""
    x, y = w.tensor(op.inputs[0]), w.tensor(op.outputs[0])
    weights = w.known(op.inputs[1], "weights")
    depthwise = op.kind == "DEPTHWISE_CONV_2D"
    strides = op.option("StrideH"), op.option("StrideW")
    dilations = op.option("DilationHFactor"), op.option("DilationWFactor")
    kernel = weights.shape[1:3]
    attributes = {
        "kernel_shape": kernel, "strides": strides, "dilations": dilations,
        "pads": pads(op, x.shape[1:3], kernel, strides, dilations),
        "group": x.shape[3] if depthwise else x.shape[3] // weights.shape[3],
    }  # fmt: skip
    turned = weights.transpose((3, 0, 1, 2) if depthwise else (0, 3, 1, 2))
    inputs = [w.value(op.inputs[0], first=True), w.shaped(op.inputs[1], turned), *_bias(w, op)]
    w.put(op.outputs[0], activated(w, op, w.node("Conv", inputs, f"{y.name}/conv", **attributes)), first=True)


def _bias(w: Writer, op: Operator) -> list[str]:
    given = len(op.inputs) > 2 and op.inputs[2] >= 0
    return [w.value(op.inputs[2])] if given else []


def transposed(w: Writer, op: Operator) -> None:
    """TRANSPOSE_CONV reads the shape of its result, weights O, H, W, I, and the map."""
    bias = op.inputs[3] if len(op.inputs) > 3 else -1
    ends = partial(pads, op)
    _transposed(w, op, (op.inputs[2], op.inputs[1], bias), (op.option("StrideH"), op.option("StrideW")), ends)


def transposed_with_bias(w: Writer, op: Operator) -> None:
    """MediaPipe's operator reads the map, weights O, H, W, I, and a bias; its options are padding, column and row strides."""
    padding, across, down = struct.unpack("<3i", op.custom[:12])
    ends = same_pads if padding == CUSTOM_SAME else lambda *_: [0] * 4
    number, weights, *more = op.inputs
    _transposed(w, op, (number, weights, more[0] if more else -1), (down, across), ends)


def _transposed(w: Writer, op: Operator, inputs: tuple[int, int, int], strides: Sides, pads_of: Pads) -> None:
    """Translates a transposed convolution; ``inputs`` are map, weights and bias."""
    x, y = w.tensor(inputs[0]), w.tensor(op.outputs[0])
    weights = w.known(inputs[1], "weights")
    kernel = weights.shape[1:3]
    # The pads of the forward convolution are cut off here; a remainder at the end is made.
    ends = pads_of(y.shape[1:3], kernel, strides, (1, 1))
    extra = [
        size - ((before - 1) * stride + taps - ends[axis] - ends[axis + 2])
        for axis, (size, before, stride, taps) in enumerate(zip(y.shape[1:3], x.shape[1:3], strides, kernel, strict=True))
    ]
    attributes = {"kernel_shape": kernel, "strides": strides, "pads": ends, "output_padding": extra}
    read = [w.value(inputs[0], first=True), w.shaped(inputs[1], weights.transpose(3, 0, 1, 2), axis=1)]
    if inputs[2] >= 0:
        read.append(w.value(inputs[2]))
    w.put(op.outputs[0], activated(w, op, w.node("ConvTranspose", read, f"{y.name}/deconv", **attributes)), first=True)


def pool(w: Writer, op: Operator) -> None:
    x, y = w.tensor(op.inputs[0]), w.tensor(op.outputs[0])
    kernel, strides = (op.option("FilterHeight"), op.option("FilterWidth")), (op.option("StrideH"), op.option("StrideW"))
    op_type = "MaxPool" if op.kind == "MAX_POOL_2D" else "AveragePool"
    attributes = {"kernel_shape": kernel, "strides": strides, "pads": pads(op, x.shape[1:3], kernel, strides, (1, 1))}
    result = w.node(op_type, [w.value(op.inputs[0], first=True)], f"{y.name}/pool", **attributes)
    w.put(op.outputs[0], activated(w, op, result), first=True)


def dense(w: Writer, op: Operator) -> None:
    """A dense layer; all dimensions of the result but the last count rows."""
    number = op.inputs[0]
    x, y, weights = w.tensor(number), w.tensor(op.outputs[0]), w.tensor(op.inputs[1])
    width = weights.shape[1]
    rows = w.value(number)
    if len(x.shape) != 2 or x.shape[1] != width:
        shape = w.constant(f"{y.name}/rows", np.array([int(np.prod(x.shape)) // width, width], np.int64))
        rows = w.real(w.node("Reshape", [w.stored(number), shape], f"{x.name}/rows"), x)
    result = w.node("Gemm", [rows, w.value(op.inputs[1]), *_bias(w, op)], f"{y.name}/dense", transB=1)
    result = activated(w, op, result)
    if len(y.shape) == 2:
        w.put(op.outputs[0], result)
        return
    w.put(op.outputs[0], result)
    shape = w.constant(f"{y.name}/shape", np.array(y.shape, np.int64))
    w.put_stored(op.outputs[0], w.node("Reshape", [w.stored(op.outputs[0]), shape], f"{y.name}/shaped"))
