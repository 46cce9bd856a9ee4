"""Writes the quantised model: what onnxruntime runs, and what the machine must agree with."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from compiler.frontend.importer.requantise import quantised
from compiler.frontend.importer.values import Params
from compiler.frontend.model import MICROSOFT, Array, Model, Node
from compiler.quantise.forms import PAIRED, Form, Forms
from compiler.quantise.schemes import Scheme

Float = NDArray[np.float32]

GREATEST_BIAS = 2.0**30
"""The greatest bias in units of the accumulator. It leaves half of the accumulator's range to the products."""


Whole = NDArray[np.int8]
Weights = Mapping[tuple[str, int], tuple[Float, Whole]]
"""The scales and the int8 values of weights, by their name and the axis of the outputs."""


def linear_layers(model: Model, forms: Forms) -> list[tuple[Node, Form]]:
    """The layers with constant weights, as kernels or matrices, with their forms."""
    return [(node, form) for node in model.nodes if (form := forms.of.get(node.name)) in (Form.CONV, Form.GEMM)]


def weights_of(model: Model, forms: Forms, scheme: Scheme) -> Weights:
    """The int8 weights of all linear layers; they need no calibration."""
    asked = dict.fromkeys((node.inputs[1], axis_of_outputs(node, form)) for node, form in linear_layers(model, forms))
    scales = {(name, axis): _scale(scheme, model.constants[name], axis) for name, axis in asked}
    return {(name, axis): (scale, _whole(model.constants[name], scale, axis)) for (name, axis), scale in scales.items()}


def written(
    model: Model, forms: Forms, params: Mapping[str, Params], scheme: Scheme, shifts: Mapping[str, NDArray[np.float64]],
    weights: Weights,
) -> Model:  # fmt: skip
    """Writes the quantised model.

    ``params`` has the form of every tensor that gets an int8 form. ``shifts`` has what is added to a layer's bias, by the
    layer's output. ``weights`` has all weights that are quantised already.
    """
    return _Writer(model, forms, params, scheme, shifts, weights).run()


class _Writer:
    """Writes the nodes of the quantised model. A tensor is in float, in int8, or both; its first reader adds a conversion."""

    def __init__(
        self, model: Model, forms: Forms, params: Mapping[str, Params], scheme: Scheme,
        shifts: Mapping[str, NDArray[np.float64]], weights: Weights,
    ) -> None:  # fmt: skip
        self.model, self.forms, self.params, self.scheme, self.shifts = model, forms, params, scheme, shifts
        self.weights = weights
        self.nodes: list[Node] = []
        self.constants: dict[str, Array] = dict(model.constants)
        self.has_float = set(model.inputs) | set(model.constants)
        self.has_stored: dict[str, str] = {}
        self.raw = set(model.inputs)
        """Tensors whose own name stands for a float value that has not passed through int8."""
        self.ways: dict[str, tuple[int, ...]] = {}
        """The axis of the scales and the shape with which the first reader takes each constant."""

    def run(self) -> Model:
        for node in self.model.nodes:
            form = self.forms.of.get(node.name)
            match form:
                case None:
                    self._host(node)
                case Form.INSIDE:
                    self._inside(node)
                case Form.CONV | Form.GEMM:
                    self._linear(node, form)
                case Form.PRODUCT:
                    self._product(node)
                case Form.RESCALED:
                    self._rescaled(node)
                case Form.PAIR:
                    self._pair(node)
                case Form.AVERAGE:
                    self._average(node)
                case Form.STORED:
                    self._stored(node)
                case Form.FLOAT:
                    self._between(node)
                case Form.CLAMP:
                    pass
        for name in self.model.outputs:
            self.float(name)
        model = replace(self.model, types={name: self.model.types[name] for name in (*self.model.inputs, *self.model.outputs)})
        return model.with_nodes(self.nodes, self.constants)

    # Tensors

    def _constant(self, name: str, value: Array) -> str:
        self.constants.setdefault(name, value)
        return name

    def _quantisation(self, name: str) -> tuple[str, str]:
        """Names of a tensor's scale and zero-point."""
        p = self.params[name]
        scale = self._constant(f"{name}_scale", np.array(p.scale, np.float32))
        return scale, self._constant(f"{name}_zero_point", np.array(p.zero_point, np.int8))

    def float(self, name: str) -> str:
        """The tensor's float form, under its own name."""
        if name not in self.has_float:
            inputs = (self.has_stored[name], *self._quantisation(name))
            self.nodes.append(Node(f"{name}_DequantizeLinear", "DequantizeLinear", inputs, (name,)))
            self.has_float.add(name)
        return name

    def stored(self, name: str) -> str:
        """The tensor's int8 form."""
        if name not in self.has_stored:
            out = f"{name}_quantized"
            self.nodes.append(Node(f"{name}_QuantizeLinear", "QuantizeLinear", (name, *self._quantisation(name)), (out,)))
            self.has_stored[name] = out
        return self.has_stored[name]

    def _result(
        self, node: Node, op_type: str, inputs: tuple[str, ...], attributes: Mapping[str, object], domain: str = ""
    ) -> None:
        """Writes a node with an int8 result, and the clamp that joined it."""
        source = node.output
        name, lo, hi = self.forms.clamp.get(source, (source, -np.inf, np.inf))
        low, high = quantised(lo, self.params[name]), quantised(hi, self.params[name])
        out = f"{name}_quantized"
        if (low, high) == (-128, 127):
            self.nodes.append(Node(node.name, op_type, inputs, (out,), attributes, domain))
        else:
            free = f"{name}_unclamped"
            bounds = tuple(self._constant(f"int8_{v}", np.array(v, np.int8)) for v in (low, high))
            self.nodes.append(Node(node.name, op_type, inputs, (free,), attributes, domain))
            self.nodes.append(Node(f"{name}_Clip", "Clip", (free, *bounds), (out,)))
        self.has_stored[name] = out

    def _final(self, node: Node) -> str:
        """The result of the node after the clamp that joined it."""
        return self.forms.clamp.get(node.output, (node.output,))[0]

    # Operators

    def _host(self, node: Node) -> None:
        """Writes a node that stays in float."""
        for name in node.reads():
            if name in self.has_stored:
                self.float(name)
        self.nodes.append(node)
        self.has_float.update(node.outputs)
        self.raw.update(node.outputs)

    def _inside(self, node: Node) -> None:
        """Writes a part of a function of one tensor: float arithmetic on values that int8 can hold."""
        self.nodes.append(replace(node, inputs=tuple(self._image(name) if name else "" for name in node.inputs)))
        self.has_float.update(node.outputs)
        self.raw.update(node.outputs)

    def _linear(self, node: Node, form: Form) -> None:
        x, out = node.inputs[0], self._final(node)
        weights = self.model.constants[node.inputs[1]]
        axis = axis_of_outputs(node, form)
        bias = self.model.constants[node.input(2)] if node.input(2) else np.zeros(weights.shape[axis], np.float32)
        bias = np.ascontiguousarray(np.broadcast_to(bias.reshape(-1), weights.shape[axis]))
        x_scale = np.float64(np.float32(self.params[x].scale))
        least = np.abs(bias).astype(np.float64) / (x_scale * GREATEST_BIAS)
        stored, scale = self._weights(node.inputs[1], weights, axis, least, node.output)
        shifted = bias.astype(np.float64) + self.shifts.get(node.output, 0.0)
        whole = np.rint(shifted / (x_scale * self.constants[scale[0]].astype(np.float64))).astype(np.int32)
        name = self._constant(f"{node.output}_bias_quantized", whole)
        head = (self.stored(x), *self._quantisation(x), stored, *scale)
        if form is Form.CONV:
            self._result(node, "QLinearConv", (*head, *self._quantisation(out), name), node.attributes)
        else:
            attributes = {"transB": node.integer("transB", 0)}
            self._result(node, "QGemm", (*head, name, *self._quantisation(out)), attributes, MICROSOFT)

    def _weights(
        self, name: str, values: Float, axis: int, least: NDArray[np.float64] | None = None, of: str = ""
    ) -> tuple[str, tuple[str, str]]:
        """The names of int8 weights, scale and zero-point. Scales below ``least`` make the bias of tensor ``of`` overflow."""
        known = self.weights.get((name, axis))
        name = self._by_way(name, (axis, *values.shape))
        scale, whole = (_scale(self.scheme, values, axis), None) if known is None else known
        if least is not None:
            coarser = _at_least(scale, least if scale.size > 1 else least.max(initial=0.0))
            if (coarser != scale).any():
                name, scale, whole = f"{name}/{of}", coarser, None
        if whole is None:
            whole = _whole(values, scale, axis)
        kind = scale.size > 1
        return self._constant(f"{name}_quantized", whole), (
            self._constant(f"{name}_scale", scale if kind else scale.reshape(())),
            self._constant(f"{name}_zero_point", np.zeros(scale.size if kind else (), np.int8)),
        )

    def _by_way(self, name: str, way: tuple[int, ...]) -> str:
        """The name of a constant for one way of reading it; each way (by rows, by columns) has its own scales and values."""
        first = self.ways.setdefault(name, way)
        return name if way == first else f"{name}/{'_'.join(map(str, way))}"

    def _product(self, node: Node) -> None:
        a, b = node.inputs
        operands = (self.stored(a), *self._quantisation(a), self.stored(b), *self._quantisation(b))
        self._result(node, "QLinearMatMul", (*operands, *self._quantisation(self._final(node))), {})

    def _rescaled(self, node: Node) -> None:
        source = next(name for name in node.inputs if name not in self.model.constants)
        self.has_stored[node.output] = self.stored(source)

    def _pair(self, node: Node) -> None:
        a, b = node.inputs
        operands = (self.stored(a), *self._quantisation(a), self.stored(b), *self._quantisation(b))
        self._result(node, f"QLinear{node.op_type}", (*operands, *self._quantisation(self._final(node))), {}, MICROSOFT)

    def _average(self, node: Node) -> None:
        x = node.inputs[0]
        inputs = (self.stored(x), *self._quantisation(x), *self._quantisation(self._final(node)))
        # All dilations are 1.
        attributes = {name: value for name, value in node.attributes.items() if name != "dilations"}
        self._result(node, f"QLinear{node.op_type}", inputs, {**attributes, "channels_last": 0}, MICROSOFT)

    def _stored(self, node: Node) -> None:
        count = len(node.inputs) if node.op_type == "Concat" else 1
        inputs = (*(self._part(node, name) for name in node.inputs[:count]), *node.inputs[count:])
        outputs = tuple(f"{name}_quantized" for name in node.outputs)
        self.nodes.append(replace(node, inputs=inputs, outputs=outputs))
        self.has_stored |= {name: f"{name}_quantized" for name in node.outputs}

    def _part(self, node: Node, name: str) -> str:
        """The int8 form of what a node moves. A constant is quantised with the scale of the result."""
        if name not in self.model.constants:
            return self.stored(name)
        p = self.params[node.output]
        values = np.rint(self.model.constants[name] / np.float32(p.scale)) + p.zero_point
        return self._constant(f"{node.output}/{name}_quantized", np.clip(values, -128, 127).astype(np.int8))

    def _between(self, node: Node) -> None:
        """Writes float arithmetic whose operands have all passed through int8."""
        inputs = []
        for index, name in enumerate(node.inputs):
            value = self.model.constants.get(name) if name else None
            weights = node.op_type == "ConvTranspose" and index == 1
            many = value is not None and value.dtype == np.float32 and value.size > 1 and _is_operand(node, index)
            if value is not None and (weights or many):
                inputs.append(self._dequantised(node, name, value))
            elif value is not None and node.op_type == "ConvTranspose":
                inputs.append(self._whole_bias(node, inputs[1], value))
            else:
                inputs.append(self._image(name) if name and value is None else name)
        out, result = self._final(node), f"{node.output}_float"
        self.nodes.append(replace(node, inputs=tuple(inputs), outputs=(result,)))
        if out != node.output:
            _, lo, hi = self.forms.clamp[node.output]
            bounds = tuple("" if np.isinf(v) else self._constant(f"float_{v}", np.array(v, np.float32)) for v in (lo, hi))
            self.nodes.append(Node(f"{out}_Clip", "Clip", (result, *bounds), (f"{out}_clamped",)))
            result = f"{out}_clamped"
        stored = f"{out}_quantized"
        self.nodes.append(Node(f"{out}_QuantizeLinear", "QuantizeLinear", (result, *self._quantisation(out)), (stored,)))
        self.has_stored[out] = stored

    def _image(self, name: str) -> str:
        """The float image of the int8 form. It differs from the float tensor that the int8 form may have been made from."""
        if name not in self.params:
            return name
        if name not in self.raw:
            return self.float(name)
        image = f"{name}_dequantized"
        if image not in self.has_float:
            inputs = (self.stored(name), *self._quantisation(name))
            self.nodes.append(Node(f"{name}_DequantizeLinear", "DequantizeLinear", inputs, (image,)))
            self.has_float.add(image)
        return image

    def _whole_bias(self, node: Node, weights: str, bias: Float) -> str:
        """A bias rounded to whole accumulator units, so that the sum is a whole number of units."""
        scale = self.constants[weights.removesuffix("_dequantized") + "_scale"].astype(np.float64)
        unit = np.tile(scale.reshape(-1), len(bias) // scale.size) * self.params[node.inputs[0]].scale
        return self._constant(f"{node.output}_bias", (np.rint(bias / unit) * unit).astype(np.float32))

    def _dequantised(self, node: Node, name: str, value: Float) -> str:
        """The float image of a constant operand in int8."""
        axis = 1  # the axis of the outputs, in all weights that have a scale for each output
        per_tensor = node.op_type not in ("ConvTranspose", "MatMul") or node.integer("group", 1) > 1
        stored, scale = self._weights(name, value.reshape(1, -1) if per_tensor else value, 0 if per_tensor else axis)
        self.constants[stored] = self.constants[stored].reshape(value.shape)
        if per_tensor:
            for part in scale:
                self.constants[part] = self.constants[part].reshape(())
        image = f"{stored.removesuffix('_quantized')}_dequantized"
        if image not in self.has_float:
            attributes = {} if per_tensor else {"axis": axis}
            self.nodes.append(
                Node(f"{node.name}/{name}_DequantizeLinear", "DequantizeLinear", (stored, *scale), (image,), attributes)
            )
            self.has_float.add(image)
        return image


def axis_of_outputs(node: Node, form: Form | None) -> int:
    return 0 if form is Form.CONV or node.integer("transB", 0) else 1


def _scale(scheme: Scheme, values: Array, axis: int) -> Float:
    return scheme.weights(values.astype(np.float32, copy=False), axis)


def _whole(values: Array, scale: Float, axis: int) -> Whole:
    shape = [1] * values.ndim
    if scale.size > 1:
        shape[axis] = scale.size
    ratio = values / scale.reshape(shape)
    np.rint(ratio, out=ratio)
    return np.asarray(np.clip(ratio, -127, 127, out=ratio).astype(np.int8))


def _at_least(scale: Float, least: NDArray[np.float64] | np.float64) -> Float:
    """The scales, each doubled until it is not below its least value."""
    doublings = np.ceil(np.log2(np.maximum(least / scale.astype(np.float64), 1.0)))
    raised: Float = np.ldexp(scale, doublings.astype(np.int32)).astype(np.float32)
    return raised


def _is_operand(node: Node, index: int) -> bool:
    """Whether an input is an operand (weights or a tensor), not a bias, a size or a bound."""
    if node.op_type in ("ConvTranspose", "MatMul", "PRelu"):
        return index == 1
    return node.op_type in PAIRED
