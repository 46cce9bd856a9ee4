"""Builds an ONNX model layer by layer, with weights that keep every feature map in a moderate range."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray
from onnx import ModelProto, TensorProto, helper, numpy_helper

from compiler.zoo import moments
from compiler.zoo.geometry import Kernel, Padding, inside, output_size, resolve, sides
from compiler.zoo.moments import Moments

OPSET = 17
IR_VERSION = 8


@dataclass(frozen=True)
class Value:
    """A tensor of the network under construction."""

    name: str
    shape: tuple[int, ...]
    moments: Moments = field(default_factory=Moments)

    @property
    def channels(self) -> int:
        return self.shape[1]

    @property
    def size(self) -> tuple[int, int]:
        return (self.shape[2], self.shape[3])


class Network:
    """Layers are added by its methods, which take and return ``Value``; ``model`` ends the construction.

    A layer is named after its operator, numbered, and prefixed with the ``scope`` in which it is added.
    """

    def __init__(self, name: str, seed: int) -> None:
        opsets = [helper.make_opsetid("", OPSET)]
        graph = helper.make_graph([], name, [], [])
        self._model = helper.make_model(graph, opset_imports=opsets, ir_version=IR_VERSION, producer_name="tilewright")
        self._graph = self._model.graph  # grows in place: the weights of VGG are half a gigabyte
        self._rng = np.random.default_rng(seed)
        self._prefix = ""
        self._counts: dict[str, int] = {}

    @contextmanager
    def scope(self, name: str) -> Iterator[None]:
        """Prefixes the names of layers that are added within with ``name/``."""
        outer, self._prefix = self._prefix, f"{self._prefix}{name}/"
        try:
            yield
        finally:
            self._prefix = outer

    def image(self, batch: int, size: int | tuple[int, int], channels: int = 3, name: str = "image") -> Value:
        """An input; its mean is taken to be 0, and its variance 1."""
        value = Value(name, (batch, channels, *sides(size)))
        self._graph.input.append(helper.make_tensor_value_info(name, TensorProto.FLOAT, value.shape))
        return value

    def conv(
        self,
        x: Value,
        channels: int,
        kernel: Kernel = 1,
        stride: int = 1,
        padding: Padding = "centred",
        dilation: int = 1,
        groups: int = 1,
    ) -> Value:
        pads = resolve(padding, x.size, kernel, stride, dilation)
        size = output_size(x.size, pads, kernel, stride, dilation)
        share = inside(x.size, pads, kernel, stride, dilation, size)
        shape = (channels, x.channels // groups, *sides(kernel))
        weight = moments.weights(self._rng, shape, math.prod(shape[1:]), x.moments, share)
        parameters = [self._constant("weight", weight), self._constant("bias", self._offsets(channels))]
        attributes = {"kernel_shape": sides(kernel), "strides": [stride] * 2, "pads": pads}
        if dilation > 1:
            attributes["dilations"] = [dilation] * 2
        shape = (x.shape[0], channels, *size)
        return self._node("Conv", [x], shape, Moments(), parameters, group=groups, **attributes)

    def depthwise(
        self, x: Value, kernel: int = 3, stride: int = 1, padding: Padding = "centred", dilation: int = 1
    ) -> Value:
        return self.conv(x, x.channels, kernel, stride, padding, dilation, groups=x.channels)

    def transposed(self, x: Value, channels: int, kernel: int = 2, stride: int = 2) -> Value:
        """A transposed convolution to ``stride`` times the size; ``kernel - stride`` is even."""
        pad = (kernel - stride) // 2
        drawn = moments.weights(
            self._rng, (channels, x.channels, kernel, kernel), x.channels * kernel**2 // stride**2, x.moments
        )
        weight = np.ascontiguousarray(drawn.swapaxes(0, 1))
        parameters = [self._constant("weight", weight), self._constant("bias", self._offsets(channels))]
        shape = (x.shape[0], channels, x.shape[2] * stride, x.shape[3] * stride)
        return self._node(
            "ConvTranspose", [x], shape, Moments(), parameters, kernel_shape=[kernel] * 2, strides=[stride] * 2, pads=[pad] * 4
        )

    def dense(self, x: Value, features: int) -> Value:
        """A Gemm, after a Flatten if ``x`` is a map."""
        if len(x.shape) > 2:
            x = self.flatten(x)
        weight = moments.weights(self._rng, (features, x.channels), x.channels, x.moments)
        parameters = [self._constant("weight", weight), self._constant("bias", self._offsets(features))]
        return self._node("Gemm", [x], (x.shape[0], features), Moments(), parameters, transB=1)

    def flatten(self, x: Value) -> Value:
        return self._node("Flatten", [x], (x.shape[0], math.prod(x.shape[1:])), x.moments)

    def batch_norm(self, x: Value) -> Value:
        """A normalisation with scale, offset, mean and positive variance near those of a trained layer."""
        spread = self._rng.uniform(0.8, 1.25, (2, x.channels)).astype(np.float32)
        statistics = {
            "scale": spread[0],
            "offset": self._offsets(x.channels),
            "mean": np.float32(x.moments.mean) + self._offsets(x.channels),
            "variance": spread[1] * np.float32(x.moments.variance),
        }
        parameters = [self._constant(name, value) for name, value in statistics.items()]
        return self._node("BatchNormalization", [x], x.shape, Moments(), parameters)

    def relu(self, x: Value) -> Value:
        return self._node("Relu", [x], x.shape, x.moments.rectified())

    def relu6(self, x: Value) -> Value:
        bounds = [self._constant(name, np.array(value, np.float32)) for name, value in (("low", 0.0), ("high", 6.0))]
        return self._node("Clip", [x], x.shape, x.moments.rectified(), bounds)

    def leaky_relu(self, x: Value, slope: float = 0.1) -> Value:
        return self._node("LeakyRelu", [x], x.shape, x.moments.rectified(slope), alpha=slope)

    def max_pool(
        self, x: Value, kernel: int = 2, stride: int = 2, padding: Padding = (0, 0, 0, 0), ceil_mode: bool = False
    ) -> Value:
        return self._pool("MaxPool", x, kernel, stride, padding, ceil_mode, x.moments.maximum(kernel**2))

    def average_pool(
        self, x: Value, kernel: int = 2, stride: int = 2, padding: Padding = (0, 0, 0, 0), ceil_mode: bool = False,
        count_padding: bool = False,
    ) -> Value:  # fmt: skip
        counted = {"count_include_pad": 1} if count_padding else {}
        return self._pool("AveragePool", x, kernel, stride, padding, ceil_mode, x.moments.average(kernel**2), **counted)

    def global_average(self, x: Value) -> Value:
        shape = (x.shape[0], x.channels, 1, 1)
        return self._node("GlobalAveragePool", [x], shape, x.moments.average(x.size[0] * x.size[1]))

    def add(self, a: Value, b: Value) -> Value:
        return self._node("Add", [a, b], a.shape, moments.added(a.moments, b.moments))

    def concat(self, parts: Sequence[Value]) -> Value:
        """The maps joined along channels."""
        shape = (parts[0].shape[0], sum(part.channels for part in parts), *parts[0].shape[2:])
        return self._node("Concat", parts, shape, moments.concatenated([(p.channels, p.moments) for p in parts]), axis=1)

    def upsample(self, x: Value, factor: int = 2, mode: str = "nearest") -> Value:
        """The map resized by an integer; ``mode`` is ``nearest`` or ``linear`` (bilinear, pixel centres aligned)."""
        size = (x.shape[2] * factor, x.shape[3] * factor)
        scales = self._constant("scales", np.array([1, 1, factor, factor], np.float32))
        return self._resize(x, size, mode, ["", scales])

    def resize(self, x: Value, size: tuple[int, int], mode: str = "linear") -> Value:
        """The map resized to a given size."""
        sizes = self._constant("sizes", np.array([*x.shape[:2], *size], np.int64))
        return self._resize(x, size, mode, ["", "", sizes])

    def crop_first(self, x: Value) -> Value:
        """The map without its first row and column."""
        bounds = [self._constant(name, np.full(2, value, np.int64)) for name, value in (("starts", 1), ("ends", 1 << 31))]
        axes = self._constant("axes", np.array([2, 3], np.int64))
        shape = (*x.shape[:2], x.shape[2] - 1, x.shape[3] - 1)
        return self._node("Slice", [x], shape, x.moments, [*bounds, axes])

    def model(self, **outputs: Value) -> ModelProto:
        """The finished model; the keywords name its outputs."""
        names = {value.name: name for name, value in outputs.items()}
        for node in self._graph.node:
            for tensors in (node.input, node.output):
                tensors[:] = [names.get(tensor, tensor) for tensor in tensors]
        inner = [info for info in self._graph.value_info if info.name not in names]
        del self._graph.value_info[:]
        self._graph.value_info.extend(inner)
        for name, value in outputs.items():
            self._graph.output.append(helper.make_tensor_value_info(name, TensorProto.FLOAT, value.shape))
        return self._model

    def _pool(
        self, kind: str, x: Value, kernel: int, stride: int, padding: Padding, ceil_mode: bool, result: Moments, **more: int
    ) -> Value:
        pads = resolve(padding, x.size, kernel, stride)
        shape = (*x.shape[:2], *output_size(x.size, pads, kernel, stride, ceil_mode=ceil_mode))
        attributes: dict[str, Any] = {**more, "ceil_mode": 1} if ceil_mode else more
        return self._node(kind, [x], shape, result, kernel_shape=[kernel] * 2, strides=[stride] * 2, pads=pads, **attributes)

    def _resize(self, x: Value, size: tuple[int, int], mode: str, parameters: list[str]) -> Value:
        rule = (
            {"coordinate_transformation_mode": "asymmetric", "nearest_mode": "floor"}
            if mode == "nearest"
            else {"coordinate_transformation_mode": "half_pixel"}
        )
        return self._node("Resize", [x], (*x.shape[:2], *size), x.moments, parameters, mode=mode, **rule)

    def _offsets(self, count: int) -> NDArray[np.float32]:
        return self._rng.standard_normal(count, dtype=np.float32) * np.float32(0.1)

    def _constant(self, role: str, value: NDArray[Any]) -> str:
        """A constant of the layer that is added next."""
        name = f"{self._prefix}{len(self._graph.node)}/{role}"
        self._graph.initializer.append(numpy_helper.from_array(value, name))
        return name

    def _node(
        self,
        kind: str,
        inputs: Sequence[Value],
        shape: tuple[int, ...],
        result: Moments,
        parameters: Sequence[str] = (),
        **attributes: Any,
    ) -> Value:
        key = f"{self._prefix}{kind.lower()}"
        number = self._counts[key] = self._counts.get(key, 0) + 1
        value = Value(f"{key}{number}", shape, result)
        names = [*(x.name for x in inputs), *parameters]
        self._graph.node.append(helper.make_node(kind, names, [value.name], name=value.name, **attributes))
        self._graph.value_info.append(helper.make_tensor_value_info(value.name, TensorProto.FLOAT, shape))
        return value
