"""Bias correction: walks a quantised model and raises the bias of each layer by what the means of its output lack.

Each layer reads what the corrected layers before it make, so that nothing is corrected twice. Naive reference: the same, with
the whole model run again for each layer.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from compiler.frontend.importer.values import Params
from compiler.frontend.model import Array, Model, Node, TensorType, part_proto
from compiler.frontend.session import run_session, session
from compiler.quantise.reference import channel_means, means_of
from compiler.quantise.statistics import Feeds
from sim.runtime.sessions import onnxruntime

Float64 = NDArray[np.float64]
LAYERS = {"QLinearConv": 8, "QGemm": 6}
"""The input of each operator that is its bias."""
TURNS = 2
"""The number of corrections of a layer. A clamp hides part of a shift; the next turn adds what is left."""
LEAST_ACTIVE = 0.5
"""The least share of unclamped values that a channel is assumed to have when its shift is raised for what the clamp hides."""
LEAST_VALUES = 64
"""The fewest values of a channel; with fewer, what its mean lacks is chance."""


@dataclass(frozen=True)
class Layer:
    """A layer with its clamp: ``final`` is the tensor, with its ``params``, that the clamp makes of the model's ``output``.

    ``low`` and ``high`` are the clamp's bounds in int8.
    """

    output: str
    final: str
    low: int
    high: int
    params: Params

    @property
    def bounds(self) -> tuple[float, float]:
        """The bounds as real numbers."""
        return (self.low - self.params.zero_point) * self.params.scale, (self.high - self.params.zero_point) * self.params.scale


class _Walk:
    def __init__(self, model: Model, feeds: Sequence[Feeds], means: Mapping[str, Float64]) -> None:
        self.model = model
        self.values: list[dict[str, Array]] = [dict(each) for each in feeds]
        self.means = means
        self.shifts: dict[str, Float64] = {}
        self.left = {name: len(nodes) for name, nodes in model.consumers().items()}

    def run(self, layers: Mapping[str, Layer]) -> dict[str, Float64]:
        for node in self.model.nodes:
            found = layers.get(node.name) if node.op_type in LAYERS else None
            if found is None:
                self._put(node, self._made(node, _loaded(self.model, node)))
            else:
                self._layer(node, found)
            for name in dict.fromkeys(node.reads()):
                self.left[name] = self.left.get(name, 0) - 1
                if not self.left[name]:
                    for values in self.values:
                        values.pop(name, None)
        return self.shifts

    def _layer(self, node: Node, layer: Layer) -> None:
        place = LAYERS[node.op_type]
        bias = node.inputs[place]
        loaded = _loaded(self.model, node, bias)
        whole = self.model.constants[bias]
        x_scale, w_scale = (self.model.constants[node.inputs[at]].astype(np.float64) for at in _SCALES[node.op_type])
        unit = x_scale * w_scale
        first = whole
        for _ in range(TURNS):
            made = self._made(node, loaded, {bias: whole})
            if sum(values[node.output].size for values in made) < LEAST_VALUES * len(whole):
                break
            clipped = [np.clip(values[node.output], layer.low, layer.high) for values in made]
            mean = (sum(channel_means(each) for each in clipped) / len(clipped) - layer.params.zero_point) * layer.params.scale
            active = sum(channel_means((each > layer.low) & (each < layer.high)) for each in clipped) / len(clipped)
            lack = (self.means[layer.final] - mean) / np.maximum(active, LEAST_ACTIVE)
            whole = np.clip(np.rint(whole + lack / unit), -(2**30), 2**30).astype(np.int32)
        self.shifts[layer.output] = (whole.astype(np.float64) - first) * unit
        self._put(node, self._made(node, loaded, {bias: whole}))

    def _made(
        self, node: Node, loaded: onnxruntime.InferenceSession, more: Mapping[str, Array] | None = None
    ) -> list[dict[str, Array]]:  # fmt: skip
        names = _read(self.model, node)
        return [run_session(loaded, {**{n: values[n] for n in names}, **(more or {})}) for values in self.values]

    def _put(self, node: Node, made: list[dict[str, Array]]) -> None:
        for values, new in zip(self.values, made, strict=True):
            values |= new


_SCALES = {"QLinearConv": (1, 4), "QGemm": (1, 4)}


def _read(model: Model, node: Node) -> list[str]:
    return list(dict.fromkeys(name for name in node.reads() if name not in model.constants))


def _loaded(model: Model, node: Node, *free: str) -> onnxruntime.InferenceSession:
    """A session of the node by itself; the constants in ``free`` become inputs."""
    near = (*node.reads(), *node.outputs)
    constants = {name: model.constants[name] for name in near if name in model.constants and name not in free}
    types = {name: model.types[name] for name in near if name in model.types}
    types |= {name: TensorType(model.elem(name), model.constants[name].shape) for name in free}
    bare = replace(model, constants=constants, types=types)
    return session(part_proto(bare, [node], [*_read(model, node), *free], [name for name in node.outputs if name]), threads=1)


def shifts_of(float_model: Model, model: Model, feeds: Sequence[Feeds], layers: Mapping[str, Layer]) -> dict[str, Float64]:
    """The numbers that are added to the biases of the layers, by the names of their nodes."""
    if not layers:
        return {}
    means = means_of(float_model, feeds, {layer.final: layer.bounds for layer in layers.values()})
    return _Walk(model, feeds, means).run(layers)
