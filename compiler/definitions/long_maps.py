"""Convolutions of 16-bit inputs or outputs, and maps of 16 bits as bytes: integer operators for onnxruntime to run.

On the machine a map of 16 bits is a map of bytes with twice the channels: of every ``lanes`` channels first the low bytes,
then the high ones (docs/reference/semantics.md). A map of ``C`` channels ends with channels that nobody reads, up to whole
``lanes``.
"""

from __future__ import annotations

from functools import cache

import onnx
from onnx import TensorProto, helper

from compiler.definitions.integer_graph import IntegerGraph

SPLIT, JOIN = "SplitBytes", "JoinBytes"
CONVOLUTIONS = {"Conv16To16": (True, True), "Conv16To8": (True, False), "Conv8To16": (False, True)}
"""Whether the inputs have 16 bits, and whether the outputs have."""

_OF_WEIGHTS = ("w", "bias", "scale", "zero_point", "low", "high")
_OF_LONG_INPUTS = ("x", "apart", "together", "x_low", "x_high")
_OF_LONG_OUTPUTS = ("y_apart", "y_together")
INPUTS = {
    SPLIT: ("x", "given", "offset", "pads", "apart", "together"),
    JOIN: ("x", "apart", "together", "channels", "offset", "final"),
    "Conv16To16": (*_OF_LONG_INPUTS, *_OF_WEIGHTS, *_OF_LONG_OUTPUTS),
    "Conv16To8": (*_OF_LONG_INPUTS, *_OF_WEIGHTS),
    "Conv8To16": ("x", "x_shape", "x_offset", "x_zero_point", *_OF_WEIGHTS, *_OF_LONG_OUTPUTS),
}
"""The inputs of each function. ``apart``: the shape with the lanes, and with low or high bytes, as dimensions of their own;
``together``: the shape without them. ``offset`` makes the least number 0; ``x_offset`` does so for 8 bits, whose shape as a
map is ``x_shape``. ``x_low``, ``x_high``: the bytes of the inputs' zero-point, uint8 as ``x_zero_point``. ``w``: the weights
plus 128. ``bias`` is int64 and ``scale`` float32, for each output channel."""

BYTE, SIGN = 256, 128
CHANNELS = "channels"
"""An attribute of convolutions that serves to count products: the inputs of each output, and the outputs, in the model."""
GROUP = "group"
_GEOMETRY = ("strides", "pads", "dilations")
_MOST = 1 << 17
"""Every result beyond this is clamped, whatever its zero-point."""


def definition(name: str, opset: int) -> onnx.FunctionProto:
    """The function for models of this operator set of ONNX."""
    if name in CONVOLUTIONS:
        return _convolution(name, opset)
    return _split(opset) if name == SPLIT else _join(opset)


@cache
def _split(opset: int) -> onnx.FunctionProto:
    graph = IntegerGraph(opset)
    x = graph("Add", graph.whole(graph("Reshape", "x", "given")), "offset")
    return graph.function(SPLIT, INPUTS[SPLIT], _bytes(graph, graph("Pad", x, "pads"), "apart", "together"), ())


@cache
def _join(opset: int) -> onnx.FunctionProto:
    graph = IntegerGraph(opset)
    low, high = _parts(graph, "x", "apart", "together")
    whole = graph("Slice", graph("Add", graph("Mul", high, BYTE), low), graph.constant([0]), "channels", graph.constant([1]))
    return graph.function(JOIN, INPUTS[JOIN], graph.cast(graph("Reshape", graph("Sub", whole, "offset"), "final")))


@cache
def _convolution(name: str, opset: int) -> onnx.FunctionProto:
    graph = IntegerGraph(opset)
    x16, y16 = CONVOLUTIONS[name]
    if x16:
        low, high = _parts(graph, "x", "apart", "together")
        total = graph("Add", graph("Mul", _sums(graph, high, "x_high"), BYTE), _sums(graph, low, "x_low"))
    else:
        total = _sums(graph, graph("Add", graph.whole(graph("Reshape", "x", "x_shape")), "x_offset"), "x_zero_point")
    real = graph("Mul", graph("Cast", graph("Add", total, "bias"), to=TensorProto.FLOAT), "scale")
    least, most = (graph("Cast", graph.constant(value), to=TensorProto.FLOAT) for value in (-_MOST, _MOST))
    y = graph.bounded(graph.whole(graph("Clip", graph("Round", real), least, most)))
    attributes = (*_GEOMETRY, GROUP, CHANNELS)
    if not y16:
        return graph.function(name, INPUTS[name], graph.cast(y), (*attributes, "to"))
    return graph.function(name, INPUTS[name], _bytes(graph, graph("Add", y, BYTE * SIGN), "y_apart", "y_together"), attributes)


def _sums(graph: IntegerGraph, x: str, zero_point: str) -> str:
    """The sums of products of numbers of 0 to 255 with the weights."""
    byte, of_weights = (graph("Cast", value, to=TensorProto.UINT8) for value in (x, graph.constant(SIGN)))
    node = helper.make_node("ConvInteger", [byte, "w", zero_point, of_weights], [])
    node.attribute.append(onnx.AttributeProto(name=GROUP, ref_attr_name=GROUP, type=onnx.AttributeProto.INT))
    return graph.whole(graph.referring(node, *_GEOMETRY))


def _bytes(graph: IntegerGraph, value: str, apart: str, together: str) -> str:
    """Numbers of 0 to 65535 as bytes: low bytes and high bytes by turns, each less 128 as int8."""
    dims = graph("Mul", apart, graph.constant([1, 1, 0, 1, 1, 1]))
    one = graph("Add", dims, graph.constant([0, 0, 1, 0, 0, 0]))
    parts = (graph("Reshape", graph(operator, value, BYTE), one) for operator in ("Mod", "Div"))
    both = graph("Reshape", graph("Concat", *parts, axis=2), together)
    return graph("Cast", graph("Sub", both, SIGN), to=TensorProto.INT8)


def _parts(graph: IntegerGraph, value: str, apart: str, together: str) -> tuple[str, str]:
    """The low and the high bytes as numbers of 0 to 255."""
    both = graph("Reshape", graph("Add", graph.whole(value), SIGN), apart)
    low, high = (graph("Reshape", graph("Gather", both, index, axis=2), together) for index in (0, 1))
    return low, high
