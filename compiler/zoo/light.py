"""The ``light`` models that the onnx package ships, with random weights in place of its constant ones.

They are nine published networks as their frameworks exported them, with opset 9, batch normalisation, LRN and Softmax. Every
large parameter in them is a ConstantOfShape. Constants would make all channels of a layer equal, and hide most errors.
"""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from numpy.typing import NDArray
from onnx import ModelProto, NodeProto, helper, numpy_helper, shape_inference

from compiler.zoo import moments
from compiler.zoo.geometry import inside
from compiler.zoo.moments import Moments
from isa.errors import TilewrightError

LIGHT_MODELS = (
    "bvlc_alexnet",
    "densenet121",
    "inception_v1",
    "inception_v2",
    "resnet50",
    "shufflenet",
    "squeezenet",
    "vgg19",
    "zfnet512",
)
FOLDER = Path(onnx.__file__).parent / "backend" / "test" / "data" / "light"
IR_VERSION = 8  # from 4 on, initialisers need not be inputs, and then they are constants


class UnknownNetworkError(TilewrightError):
    """The error for a network that does not exist."""


def light_model(name: str, seed: int = 0) -> ModelProto:
    """One of ``LIGHT_MODELS``; the image is its only input, and it has the shape of every tensor."""
    if name not in LIGHT_MODELS:
        raise UnknownNetworkError(f"no light model is called {name!r}; there are {', '.join(LIGHT_MODELS)}")
    model = onnx.load(FOLDER / f"light_{name}.onnx")
    model.ir_version = IR_VERSION
    constants = {tensor.name for tensor in model.graph.initializer}
    _keep(model.graph.input, {value.name for value in model.graph.input} - constants)
    model = shape_inference.infer_shapes(model, strict_mode=True)

    filler = _Filler(model, seed)
    for node in model.graph.node:
        filler.visit(node)
    layers = [node for node in model.graph.node if node.op_type != "ConstantOfShape"]
    used = {tensor for node in layers for tensor in node.input}
    del model.graph.node[:]
    model.graph.node.extend(layers)
    _keep(model.graph.initializer, used - set(filler.parameters))
    _keep(model.graph.value_info, {tensor for node in layers for tensor in node.output})
    for parameter, value in filler.parameters.items():
        model.graph.initializer.append(numpy_helper.from_array(value, parameter))
    return model


def _keep(values: Any, names: set[str]) -> None:
    """Drops every entry of a list of named things that is not among ``names``."""
    kept = [value for value in values if value.name in names]
    del values[:]
    values.extend(kept)


class _Filler:
    """Visits the nodes in order, draws the parameters of each, and keeps the moments of its result."""

    def __init__(self, model: ModelProto, seed: int) -> None:
        self.parameters: dict[str, NDArray[np.float32]] = {}
        self._rng = np.random.default_rng(seed)
        self._shapes = {tensor.name: tuple(tensor.dims) for tensor in model.graph.initializer}
        for value in (*model.graph.input, *model.graph.value_info, *model.graph.output):
            self._shapes[value.name] = tuple(d.dim_value for d in value.type.tensor_type.shape.dim)
        self._moments = {value.name: Moments() for value in model.graph.input}
        self._sources: dict[str, str] = {}
        """For parameters that are reshaped before they are used: the first name, by the name in the other shape."""

    def visit(self, node: NodeProto) -> None:
        if node.op_type in ("Reshape", "Unsqueeze") and node.input[0] not in self._moments:
            self._sources[node.output[0]] = node.input[0]
        elif node.op_type != "ConstantOfShape":
            result = self._result(node)
            for output in node.output:
                self._moments[output] = result

    def _result(self, node: NodeProto) -> Moments:
        x = self._moments[node.input[0]]
        attributes = {attribute.name: helper.get_attribute_value(attribute) for attribute in node.attribute}
        match node.op_type:
            case "Conv" | "Gemm":
                self._draw_weights(node, x, attributes)
                return Moments()
            case "BatchNormalization":
                self._draw_statistics(node, x)
                return Moments()
            case "Mul":
                self._draw_spread(node.input[1])
                return x
            case "Add" if node.input[1] in self._sources:
                self._draw_offsets(node.input[1])
                return x
            case "Add" | "Sum":
                return moments.added(x, self._moments[node.input[1]])
            case "Relu":
                return x.rectified()
            case "MaxPool":
                return x.maximum(math.prod(attributes["kernel_shape"]))
            case "AveragePool":
                return x.average(math.prod(attributes["kernel_shape"]))
            case "GlobalAveragePool":
                return x.average(math.prod(self._shapes[node.input[0]][2:]))
            case "Concat":
                return moments.concatenated([(self._shapes[name][1], self._moments[name]) for name in node.input])
            case "LRN":
                divisor = (attributes["bias"] + attributes["alpha"] * x.power) ** attributes["beta"]
                return Moments(x.mean / divisor, x.variance / divisor**2)
            case "Dropout" | "Reshape" | "Softmax" | "Transpose":
                return x
        raise AssertionError(f"{node.op_type} has no rule for the moments of its result")

    def _draw_weights(self, node: NodeProto, x: Moments, attributes: dict[str, Any]) -> None:
        shape = self._shapes[node.input[1]]
        share = 1.0
        if node.op_type == "Conv":
            size, output = (self._shapes[name][2:] for name in (node.input[0], node.output[0]))
            pads, stride = attributes.get("pads", (0, 0, 0, 0)), attributes.get("strides", (1, 1))[0]
            share = inside((size[0], size[1]), pads, shape[2], stride, 1, (output[0], output[1]))
        self._store(node.input[1], moments.weights(self._rng, shape, math.prod(shape[1:]), x, share))
        if len(node.input) > 2:
            self._draw_offsets(node.input[2])

    def _draw_statistics(self, node: NodeProto, x: Moments) -> None:
        scale, offset, mean, variance = node.input[1:5]
        self._draw_spread(scale)
        self._draw_offsets(offset)
        self._draw_offsets(mean, x.mean)
        self._draw_spread(variance, x.variance)

    def _draw_offsets(self, name: str, centre: float = 0.0) -> None:
        drawn = self._rng.standard_normal(self._shapes[name], dtype=np.float32)
        self._store(name, drawn * np.float32(0.1) + np.float32(centre))

    def _draw_spread(self, name: str, centre: float = 1.0) -> None:
        """Positive values around ``centre``."""
        self._store(name, (self._rng.uniform(0.8, 1.25, self._shapes[name]) * centre).astype(np.float32))

    def _store(self, name: str, value: NDArray[np.float32]) -> None:
        source = self._sources.get(name, name)
        self.parameters[source] = value.reshape(self._shapes[source])
