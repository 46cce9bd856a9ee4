"""Writes layers of 16-bit activations as calls of integer definitions (``compiler/definitions/long_maps.py``) on maps of bytes.

``DequantizeLinear -> Conv, Gemm, MatMul, an average or Add -> Relu, Clip -> QuantizeLinear`` becomes one call, if its input or
its output has 16 bits. Where the host makes or reads a map of 16 bits, it calls ``SplitBytes`` or ``JoinBytes``. A layer that
the machine does not take stays as it is, and runs on the CPU.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np

from compiler.definitions.integer_graph import DOMAIN
from compiler.definitions.long_maps import CHANNELS, CONVOLUTIONS, SIGN
from compiler.frontend.constraints import general
from compiler.frontend.constraints import long_layers as constraints
from compiler.frontend.constraints.base import Unsupported, require
from compiler.frontend.importer.context import Context
from compiler.frontend.long_moves import moved, with_stored_moves
from compiler.frontend.long_sums import AVERAGES, CONVOLUTION, DENSE, SUMS, Sums, form_at, in_words, sums_of
from compiler.frontend.long_writer import HALF, SIXTEEN_BITS, Ends, Form, Writer, ends_before, ends_of, form_of, whole_numbers
from compiler.frontend.model import Array, Model, Node, TensorType, scalar

_CLAMPS = ("Relu", "Clip")
LEAST_OPSET = 13
"""The first operator set that has all operators of the definitions."""


@dataclass
class _Layer:
    """A layer that becomes a call."""

    node: Node
    xs: tuple[Ends, ...]
    y: Ends
    lo: float = -np.inf
    hi: float = np.inf


def with_long_layers(model: Model, lanes: int, kept: Mapping[str, str]) -> tuple[Model, dict[str, str]]:
    """The model with calls for ``lanes`` channels in a word, and the reasons for which other layers of 16 bits get none.

    ``kept`` are nodes that are left out.
    """
    reasons = dict[str, str]()
    if not any(known.elem in SIXTEEN_BITS for known in model.types.values()) or model.opsets.get("", 0) < LEAST_OPSET:
        return model, reasons
    model = with_stored_moves(model, kept)
    ctx, writer = Context(model), Writer(model, lanes)
    for node in model.nodes:
        layer = _layer(ctx, node, kept)
        try:
            if layer is not None:
                _write(ctx, writer, layer)
                continue
            moved(ctx, writer, node)
        except Unsupported as refused:
            reasons[layer.node.name if layer is not None else node.name] = refused.reason
        writer.nodes.append(node)
    nodes = _read(writer.nodes, model.outputs)
    constants = {**model.constants, **writer.constants}
    opsets = {**model.opsets, DOMAIN: 1}
    return replace(model, types={**model.types, **writer.types}, opsets=opsets).with_nodes(nodes, constants), reasons


def _layer(ctx: Context, quantiser: Node, kept: Mapping[str, str]) -> _Layer | None:
    """The layer whose result the node quantises, if it can become a call."""
    if quantiser.op_type != "QuantizeLinear" or quantiser.name in kept:
        return None
    lo, hi = -np.inf, np.inf
    node, name = ctx.producers.get(quantiser.inputs[0]), quantiser.inputs[0]
    while node is not None and node.op_type in _CLAMPS and _alone(ctx, name) and node.name not in kept:
        bounds = _bounds(ctx, node)
        if bounds is None:
            break
        lo, hi = min(max(lo, bounds[0]), bounds[1]), max(min(hi, bounds[1]), bounds[0])
        name = node.inputs[0]
        node = ctx.producers.get(name)
    if node is None or node.domain or not _alone(ctx, name) or node.name in kept:
        return None
    count = 2 if node.op_type in SUMS else 1 if node.op_type in (*CONVOLUTION, *DENSE, *AVERAGES) else 0
    xs = [ends_before(ctx, ctx.producers.get(name)) for name in node.inputs[:count]]
    y = ends_of(ctx, quantiser, quantiser.output)
    found = tuple(x for x in xs if x is not None)
    if not found or len(found) != len(xs) or y is None or not any(end.long for end in (*found, y)):
        return None
    return _Layer(node, found, y, lo, hi)


def _alone(ctx: Context, name: str) -> bool:
    return len(ctx.consumers.get(name, ())) == 1 and name not in ctx.model.outputs


def _bounds(ctx: Context, node: Node) -> tuple[float, float] | None:
    """The bounds of a Relu or Clip, if they are constants."""
    if node.op_type == "Relu":
        return 0.0, np.inf
    low, high = (ctx.constant(node.input(index)) if node.input(index) else np.array(default) for index, default in _OPEN)
    return None if low is None or high is None else (float(scalar(low)), float(scalar(high)))


_OPEN = ((1, -np.inf), (2, np.inf))
"""The inputs of a Clip that are bounds, with the bound if the input is left out."""


def _write(ctx: Context, writer: Writer, layer: _Layer) -> None:
    """Writes the call in the place of the layer and of its quantiser."""
    node, (x, *others), y = layer.node, layer.xs, layer.y
    flat = writer.flat.get(x.name) if node.op_type in DENSE else None
    form, to = form_at(ctx, node, x.name), form_at(ctx, node, y.name)
    if flat:
        form, layer = form_of(ctx.shape(flat)), replace(layer, xs=(replace(x, name=flat),))
    if others:
        order = next((order for end in layer.xs for order in writer.orders(end.name)), form.order)
        form, to = (form_of(ctx.shape(name), order) for name in (x.name, y.name))
        pair = all(end.long for end in layer.xs) and all(ctx.shape(end.name) == ctx.shape(y.name) for end in layer.xs)
        require(constraints.long_pair, pair, 2 * writer.together(form.shape)[1])
    read = writer.together(form.shape) if others else form.shape
    asked = sums_of(ctx, node, layer.xs, y, (read, to.shape))
    require(general.weights_fit, asked.weights)
    require(general.scale_fits, asked.scale)
    sums = in_words(asked, writer.lanes, (x.long, y.long))
    zero = x.zero_point + x.offset
    given: dict[str, Array] = {
        "w": (sums.weights + SIGN).astype(np.uint8), "bias": _column(sums.bias), "scale": _column(sums.scale),
        "x_low": np.array(zero & 255, np.uint8), "x_high": np.array(zero >> 8, np.uint8),
        "x_offset": whole_numbers(x.offset), "x_zero_point": np.array(zero & 255, np.uint8),
    }  # fmt: skip
    centre = y.offset - HALF if y.long else 0
    numbers = (y.zero_point, y.quantised(layer.lo), y.quantised(layer.hi))
    given |= {role: whole_numbers(n + centre) for role, n in zip(("zero_point", "low", "high"), numbers, strict=True)}
    of_zero = (zero - (HALF + SIGN if x.long else SIGN)) * sums.weights.sum(axis=(1, 2, 3), dtype=np.int64)
    require(constraints.long_bias, sums.bias - of_zero)
    require(constraints.long_sums, sums.weights, sums.bias - of_zero)
    _call(writer, layer, (form, to), sums, given)


def _call(writer: Writer, layer: _Layer, forms: tuple[Form, Form], sums: Sums, given: dict[str, Array]) -> None:
    node, (x, *_), y, (form, to) = layer.node, layer.xs, layer.y, forms
    kind = next(name for name, bits in CONVOLUTIONS.items() if bits == (x.long, y.long))
    window = sums.window
    attributes: dict[str, object] = {
        "strides": window.stride, "pads": window.pads, "dilations": window.dilation, "group": sums.groups,
        CHANNELS: (sums.inputs, to.shape[1]),
    }  # fmt: skip
    if x.long:
        source = _together(writer, [writer.map_of(end, form) for end in layer.xs])
        n, c, h, w = writer.shape(source)
        given |= {"apart": whole_numbers(writer.apart((n, c // 2, h, w))), "together": whole_numbers((n, c // 2, h, w))}
    else:
        source = writer.turned(x, form)
        given["x_shape"] = whole_numbers(form.shape)
    if y.long:
        made = f"{to.label(y.name)}/bytes"
        writer.types[made] = writer.bytes_type(to.shape)
        given |= {"y_apart": whole_numbers(writer.apart(to.shape)), "y_together": whole_numbers(writer.types[made].shape)}
        writer.call(kind, node.name, source, given, made, **attributes)
        writer.made(y, to, made)
        return

    def write(output: str, shape: tuple[int, ...]) -> None:
        result = output if len(shape) == 4 else f"{output}/map"
        writer.call(kind, node.name, source, given, result, **attributes, to=y.elem)
        if result != output:
            writer.types[result] = TensorType(y.elem, to.shape)
            final = writer.constant(result, "shape", whole_numbers(shape))
            writer.nodes.append(Node(f"{result}/reshape", "Reshape", (result, final), (output,)))

    writer.from_map(y, to, write)


def _together(writer: Writer, maps: list[str]) -> str:
    """The maps as one map, joined along channels."""
    if len(maps) == 1:
        return maps[0]
    n, c, h, w = writer.shape(maps[0])
    label = f"{maps[0]}/beside/{maps[1]}"
    known = replace(writer.types[maps[0]], shape=(n, len(maps) * c, h, w))
    return writer.node("Concat", maps, label, known, axis=1)


def _column(values: Array) -> Array:
    """The values as a column: one number for each channel."""
    return values.reshape(1, -1, 1, 1)


def _read(nodes: list[Node], outputs: tuple[str, ...]) -> list[Node]:
    """The nodes whose results are read."""
    wanted, kept = {*outputs}, list[Node]()
    for node in reversed(nodes):
        if not wanted.isdisjoint(node.outputs):
            kept.append(node)
            wanted.update(node.reads())
    return kept[::-1]
