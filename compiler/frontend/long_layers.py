"""Layers of 16-bit activations as calls of integer definitions (``compiler/definitions/long_maps.py``) on maps of bytes.

``DequantizeLinear -> Conv, Gemm or MatMul -> Relu, Clip -> QuantizeLinear``, of which input or output has 16 bits, becomes one
call. Where the host makes a map of 16 bits, or reads it, a call of ``SplitBytes`` or ``JoinBytes`` stands on its side. What the
machine does not take stays as it is, and runs on the CPU.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace

import numpy as np
import onnx
from numpy.typing import NDArray

from compiler.definitions.integer_graph import DOMAIN
from compiler.definitions.long_maps import CHANNELS, CONVOLUTIONS, INPUTS, JOIN, SIGN, SPLIT
from compiler.frontend.constraints import general
from compiler.frontend.constraints import long_layers as constraints
from compiler.frontend.constraints.base import Unsupported, require
from compiler.frontend.importer.context import EIGHT_BITS, Context
from compiler.frontend.importer.geometry import window_of
from compiler.frontend.importer.weights import Weights, real_constant, weights_behind
from compiler.frontend.model import Array, Model, Node, TensorType, scalar
from compiler.xgraph.ops import Window

SIXTEEN_BITS = (onnx.TensorProto.INT16, onnx.TensorProto.UINT16)
_LAYERS = ("Conv", "Gemm", "MatMul")
_CLAMPS = ("Relu", "Clip")
_HALF = 1 << 15
LEAST_OPSET = 13
"""Of the operators that the definitions are made of."""


@dataclass(frozen=True)
class _Ends:
    """A quantised tensor: its scale, and its zero-point as it is stored."""

    name: str
    elem: int
    scale: np.float32
    zero_point: int

    @property
    def long(self) -> bool:
        return self.elem in SIXTEEN_BITS

    @property
    def offset(self) -> int:
        """What makes its least number 0."""
        signed = self.elem in (onnx.TensorProto.INT8, onnx.TensorProto.INT16)
        return (_HALF if self.long else SIGN) if signed else 0

    @property
    def bounds(self) -> tuple[int, int]:
        least, count = -self.offset, 2 * (_HALF if self.long else SIGN)
        return least, least + count - 1

    def quantised(self, value: float) -> int:
        stored = np.rint(np.float32(value) / self.scale) + self.zero_point
        return int(np.clip(stored, *self.bounds))


@dataclass
class _Layer:
    """One that becomes a call."""

    node: Node
    x: _Ends
    y: _Ends
    lo: float = -np.inf
    hi: float = np.inf


@dataclass
class _Writer:
    """The model as it is rewritten."""

    model: Model
    lanes: int
    nodes: list[Node] = field(default_factory=list)
    constants: dict[str, Array] = field(default_factory=dict)
    types: dict[str, TensorType] = field(default_factory=dict)
    maps: dict[str, str] = field(default_factory=dict)
    """The map of bytes of each tensor of 16 bits that has one."""

    def constant(self, owner: str, role: str, value: Array) -> str:
        name = f"{owner}/{role}"
        self.constants[name] = value
        return name

    def call(self, kind: str, name: str, x: str, given: Mapping[str, Array], output: str, **attributes: object) -> None:
        inputs = [x, *(self.constant(name, role, given[role]) for role in INPUTS[kind][1:])]
        self.nodes.append(Node(name, kind, tuple(inputs), (output,), attributes, DOMAIN))

    def channels(self, layer: _Layer) -> int:
        """Of the input."""
        shape = self.model.shape(layer.x.name)
        assert shape is not None
        return shape[1]

    def shapes(self, shape: tuple[int, int, int, int]) -> tuple[list[int], list[int]]:
        """A map's lanes apart, and its channels together, without those of bytes."""
        n, c, h, w = shape
        words = -(-c // self.lanes)
        return [n, words, 2, self.lanes, h, w], [n, words * self.lanes, h, w]

    def map_of(self, x: _Ends, shape: tuple[int, int, int, int]) -> str:
        """The map of bytes of a tensor of 16 bits; the host splits it, if no layer makes it."""
        if x.name not in self.maps:
            made = f"{x.name}/bytes"
            apart, (n, c, h, w) = self.shapes(shape)
            pads = [0, 0, 0, 0, 0, c - shape[1], 0, 0]
            given = {"given": _whole(shape), "offset": _whole(x.offset), "pads": _whole(pads), "apart": _whole(apart)}
            given |= {"together": _whole([n, 2 * c, h, w])}
            self.call(SPLIT, f"{x.name}/split", x.name, given, made)
            self.types[made] = TensorType(onnx.TensorProto.INT8, (n, 2 * c, h, w))
            self.maps[x.name] = made
        return self.maps[x.name]


def with_long_layers(model: Model, lanes: int, kept: Mapping[str, str]) -> tuple[Model, dict[str, str]]:
    """The model with calls for ``lanes`` channels in a word, and why layers of 16 bits are none.

    ``kept``: nodes that are not asked.
    """
    ctx = Context(model)
    found, reasons = dict[str, _Layer](), dict[str, str]()
    if not any(known.elem in SIXTEEN_BITS for known in model.types.values()) or model.opsets.get("", 0) < LEAST_OPSET:
        return model, reasons
    writer = _Writer(model, lanes)
    for layer, quantiser in _layers(ctx, kept):
        found[quantiser] = layer
    for node in model.nodes:
        written = node.name in found
        if written:
            try:
                _write(ctx, writer, found[node.name])
            except Unsupported as refusal:
                reasons[found[node.name].node.name] = refusal.reason
                written = False
        if not written:
            writer.nodes.append(node)
    nodes = _read(writer.nodes, model.outputs)
    constants = {**model.constants, **writer.constants}
    opsets = {**model.opsets, DOMAIN: 1}
    return replace(model, types={**model.types, **writer.types}, opsets=opsets).with_nodes(nodes, constants), reasons


def _layers(ctx: Context, kept: Mapping[str, str]) -> Iterator[tuple[_Layer, str]]:
    """Each with the name of the node that quantises its result."""
    model = ctx.model
    for quantiser in model.nodes:
        if quantiser.op_type != "QuantizeLinear" or quantiser.name in kept:
            continue
        lo, hi = -np.inf, np.inf
        node, name = ctx.producers.get(quantiser.inputs[0]), quantiser.inputs[0]
        while node is not None and node.op_type in _CLAMPS and _alone(ctx, name) and node.name not in kept:
            bounds = _bounds(ctx, node)
            if bounds is None:
                break
            lo, hi = min(max(lo, bounds[0]), bounds[1]), max(min(hi, bounds[1]), bounds[0])
            name = node.inputs[0]
            node = ctx.producers.get(name)
        if node is None or node.op_type not in _LAYERS or node.domain or not _alone(ctx, name) or node.name in kept:
            continue
        reader = ctx.producers.get(node.inputs[0])
        if reader is None or reader.op_type != "DequantizeLinear" or reader.inputs[0] in model.constants:
            continue
        x, y = _ends(ctx, reader, reader.inputs[0]), _ends(ctx, quantiser, quantiser.output)
        if x is not None and y is not None and (x.long or y.long):
            yield _Layer(node, x, y, lo, hi), quantiser.name


def _alone(ctx: Context, name: str) -> bool:
    return len(ctx.consumers.get(name, ())) == 1 and name not in ctx.model.outputs


def _bounds(ctx: Context, node: Node) -> tuple[float, float] | None:
    """Of a Relu or Clip, if they are constants."""
    if node.op_type == "Relu":
        return 0.0, np.inf
    low, high = (ctx.constant(node.input(index)) if node.input(index) else np.array(default) for index, default in _OPEN)
    return None if low is None or high is None else (float(scalar(low)), float(scalar(high)))


_OPEN = ((1, -np.inf), (2, np.inf))
"""Bounds of a Clip, by input."""


def _ends(ctx: Context, node: Node, name: str) -> _Ends | None:
    """What a QuantizeLinear or DequantizeLinear says of a tensor, if it is of 8 or 16 bits with one scale."""
    scale, zero, elem = ctx.constant(node.input(1)), ctx.constant(node.input(2)), ctx.model.elem(name)
    whole = scale is not None and scale.size == 1 and (not node.input(2) or (zero is not None and zero.size == 1))
    if not whole or elem not in (*EIGHT_BITS, *SIXTEEN_BITS):
        return None
    assert scale is not None
    return _Ends(name, elem, np.float32(scalar(scale)), int(scalar(zero)) if zero is not None else 0)


def _write(ctx: Context, writer: _Writer, layer: _Layer) -> None:
    """The call in the place of the layer and of what quantises it."""
    node, x, y = layer.node, layer.x, layer.y
    shapes = _four(ctx.shape(x.name), node), _four(ctx.shape(y.name), node)
    weights, axis, window = _weights(ctx, node, shapes)
    require(general.weights_fit, weights.values)
    unit = x.scale * weights.along(axis)
    scale = np.broadcast_to(unit / y.scale, shapes[1][1:2]).astype(np.float32)
    require(general.scale_fits, scale)
    bias = _bias(ctx, node, unit, shapes[1][1])
    more = [-count % writer.lanes if end.long else 0 for count, end in zip(weights.values.shape[:2], (y, x), strict=True)]
    beyond = [(0, more[0]), (0, more[1]), (0, 0), (0, 0)]
    padded = np.pad(weights.values.astype(np.int16) + SIGN, beyond, constant_values=SIGN)
    channels = len(padded)
    zero = x.zero_point + x.offset
    given: dict[str, Array] = {
        "w": padded.astype(np.uint8), "bias": _column(bias, channels), "scale": _column(scale, channels),
        "x_low": np.array(zero & 255, np.uint8), "x_high": np.array(zero >> 8, np.uint8),
        "x_offset": _whole(x.offset), "x_zero_point": np.array(zero & 255, np.uint8),
    }  # fmt: skip
    centre = y.offset - _HALF if y.long else 0
    numbers = (y.zero_point, y.quantised(layer.lo), y.quantised(layer.hi))
    given |= {role: _whole(number + centre) for role, number in zip(("zero_point", "low", "high"), numbers, strict=True)}
    of_zero = (zero - (_HALF + SIGN if x.long else SIGN)) * weights.values.astype(np.int64).sum(axis=(1, 2, 3))
    require(constraints.long_bias, bias - of_zero)
    require(constraints.long_sums, weights.values, bias - of_zero)
    source = x.name
    if x.long:
        apart, together = writer.shapes(shapes[0])
        given |= {"apart": _whole(apart), "together": _whole(together)}
        source = writer.map_of(x, shapes[0])
    else:
        given["x_shape"] = _whole(shapes[0])
    _call(writer, layer, source, given, shapes[1], window)


def _call(
    writer: _Writer, layer: _Layer, source: str, given: dict[str, Array], shape: tuple[int, int, int, int], window: Window
) -> None:
    node, x, y = layer.node, layer.x, layer.y
    kind = next(name for name, bits in CONVOLUTIONS.items() if bits == (x.long, y.long))
    channels = writer.channels(layer), shape[1]
    geometry = {"strides": window.stride, "pads": window.pads, "dilations": window.dilation, CHANNELS: channels}
    if not y.long:
        made = y.name if len(writer.model.shape(y.name) or ()) == 4 else f"{y.name}/map"
        writer.call(kind, node.name, source, given, made, **geometry, to=y.elem)
        if made != y.name:
            writer.types[made] = TensorType(y.elem, shape)
            final = writer.constant(made, "shape", _whole(writer.model.shape(y.name) or ()))
            writer.nodes.append(Node(f"{made}/reshape", "Reshape", (made, final), (y.name,)))
        return
    made = f"{y.name}/bytes"
    apart, together = writer.shapes(shape)
    n, c, h, w = together
    given |= {"y_apart": _whole(apart), "y_together": _whole([n, 2 * c, h, w])}
    writer.call(kind, node.name, source, given, made, **geometry)
    writer.types[made] = TensorType(onnx.TensorProto.INT8, (n, 2 * c, h, w))
    writer.maps[y.name] = made
    joined = {"apart": _whole(apart), "together": _whole(together), "channels": _whole(shape[1:2]), "offset": _whole(y.offset)}
    joined |= {"final": _whole(writer.model.shape(y.name) or ())}
    writer.call(JOIN, f"{y.name}/join", made, joined, y.name, to=y.elem)


def _weights(ctx: Context, node: Node, shapes: tuple[tuple[int, ...], tuple[int, ...]]) -> tuple[Weights, int, Window]:
    """Output channel x input channel x kernel, the axis of its scales, and the window."""
    weights = weights_behind(ctx, node.inputs[1])
    if node.op_type == "Conv":
        require(constraints.long_group, node)
        kernel = weights.values.shape[2:]
        size, out = (shape[4 - len(kernel) :] for shape in shapes)
        values = weights.values.reshape(*weights.values.shape[:2], *((1,) * (2 - len(kernel))), *kernel)
        return replace(weights, values=values), 0, window_of(node, size, kernel, out)
    require(constraints.long_matrix, ctx.shape(node.inputs[0]))
    plain = not node.integer("transA", 0) and all(float(node.attributes.get(name, 1.0)) == 1.0 for name in ("alpha", "beta"))
    require(general.weights_constant, True if plain else None)
    turned = weights if node.integer("transB", 0) else weights.transposed((1, 0))
    return replace(turned, values=turned.values[:, :, None, None]), 0, Window((1, 1))


def _bias(ctx: Context, node: Node, unit: NDArray[np.float32], channels: int) -> NDArray[np.int64]:
    if not node.input(2):
        return np.zeros(channels, np.int64)
    bias = real_constant(ctx, node.input(2))
    require(general.bias_constant, bias, channels)
    assert bias is not None
    units = np.rint(np.broadcast_to(bias.reshape(-1), channels) / unit.astype(np.float64))
    require(general.bias_fits, units)
    return units.astype(np.int64)


def _column(values: Array, channels: int) -> Array:
    """One number for each channel, zero where there is none."""
    return np.pad(values, (0, channels - len(values))).reshape(1, channels, 1, 1)


def _four(shape: tuple[int, ...], node: Node) -> tuple[int, int, int, int]:
    """As batch, channels, height and width."""
    if node.op_type == "Conv" and len(shape) == 3:
        return shape[0], shape[1], 1, shape[2]
    require(general.at_most_four_dimensions, shape)
    n, c, h, w = (*shape, 1, 1)[:4] if len(shape) == 2 else shape
    return n, c, h, w


def _whole(values: object) -> Array:
    return np.asarray(values, np.int64)


def _read(nodes: list[Node], outputs: tuple[str, ...]) -> list[Node]:
    """The nodes whose results are read."""
    wanted, kept = {*outputs}, list[Node]()
    for node in reversed(nodes):
        if not wanted.isdisjoint(node.outputs):
            kept.append(node)
            wanted.update(node.reads())
    return kept[::-1]
