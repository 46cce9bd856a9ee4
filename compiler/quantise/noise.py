"""The signal-to-noise ratio of each tensor in the quantised model. Noise from all nodes before it counts."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import islice

import numpy as np
import onnx

from compiler.frontend.model import Array, Model, Node, TensorType, part_proto
from compiler.frontend.session import run_session, session
from compiler.quantise.equalise import PLAIN, Factors, multiplied
from compiler.quantise.statistics import CalibrationError, batches

STORED = "_quantized"
"""The ending of the name of a tensor's int8 form."""
_MOST_BATCHES = 16
_PLACES = {
    "QuantizeLinear": 1, "QLinearConv": 6, "QGemm": 7, "QLinearAdd": 6, "QLinearMul": 6, "QLinearAveragePool": 3,
    "QLinearGlobalAveragePool": 3,
}  # fmt: skip
"""The input of each operator that is the scale of its result; its zero-point is the next input."""


@dataclass(frozen=True)
class Noise:
    """The noise of one tensor: ``layer`` makes it in the float model; ``decibels`` are infinite where no value changes."""

    layer: str
    tensor: str
    decibels: float

    @property
    def stored(self) -> str:
        """The int8 form's name."""
        return f"{self.tensor}{STORED}"


def noise_of_tensors(float_model: Model, quantised: Model, data: Mapping[str, Array]) -> list[Noise]:
    """The noise of all tensors in the order of the network, over the first batches of the data."""
    return noise_of_feeds(float_model, quantised, islice(batches(float_model, data), _MOST_BATCHES))


def noise_of_feeds(
    float_model: Model, quantised: Model, data: Iterable[Mapping[str, Array]], factors: Factors = PLAIN
) -> list[Noise]:
    """The noise of all tensors in the order of the network.

    ``factors`` are what channels are divided by in both models; they are taken back, so that all channels count as without
    them.
    """
    makers = float_model.producers()
    names = list(_in_both(float_model, quantised))
    if not names:
        return []
    plain = session(_with_outputs(float_model, names), optimised=True)
    stored = session(_with_outputs(quantised, [f"{name}{STORED}" for name in names]))
    forms = forms_of_tensors(quantised)
    signal, noise = dict.fromkeys(names, 0.0), dict.fromkeys(names, 0.0)
    count = 0
    for feeds in data:
        count += 1
        expected = run_session(plain, feeds, names)
        found = run_session(stored, feeds, [f"{name}{STORED}" for name in names])
        for name in names:
            real, stored_name = expected[name].astype(np.float64), f"{name}{STORED}"
            apart = _real(quantised, forms[stored_name], found[stored_name]) - real
            signal[name] += float(np.square(multiplied(real, factors.get(name))).sum())
            noise[name] += float(np.square(multiplied(apart, factors.get(name))).sum())
    if not count:
        raise CalibrationError("validation data: holds no whole batch; give at least one sample for each input")
    return [Noise(makers[name].name, name, decibels(signal[name], noise[name])) for name in names]


def decibels(signal: float, noise: float) -> float:
    """The ratio of two powers in decibels: infinity without noise, minus infinity where the ratio is 0."""
    if noise == 0.0:
        return math.inf
    return 10 * math.log10(signal / noise) if signal / noise > 0.0 else -math.inf


def _in_both(float_model: Model, quantised: Model) -> Iterator[str]:
    made = {name for node in quantised.nodes for name in node.outputs}
    for node in float_model.nodes:
        yield from (name for name in node.outputs if name and f"{name}{STORED}" in made)


def form_of(node: Node) -> tuple[str, str]:
    """The names of the scale and zero-point that an operator gives its result."""
    place = _PLACES[node.op_type]
    return node.inputs[place], node.inputs[place + 1]


def forms_of_tensors(model: Model) -> dict[str, tuple[str, str]]:
    """The names of scale and zero-point for every int8 tensor that a node makes.

    A tensor that is moved or clipped has those of its source.
    """
    found: dict[str, tuple[str, str]] = {}
    for node in model.nodes:
        if node.op_type in _PLACES:
            form = form_of(node)
        elif node.inputs and node.inputs[0] in found and node.op_type != "DequantizeLinear":
            form = found[node.inputs[0]]
        else:
            continue
        found |= dict.fromkeys(node.outputs, form)
    return found


def _real(model: Model, form: tuple[str, str], stored: Array) -> Array:
    scale, zero_point = (model.constants[name].astype(np.float64) for name in form)
    return np.asarray((stored.astype(np.float64) - zero_point) * scale)


def _with_outputs(model: Model, names: list[str]) -> onnx.ModelProto:
    known = {name: model.types.get(name, TensorType(onnx.TensorProto.UNDEFINED, None)) for name in names}
    return part_proto(replace(model, types={**model.types, **known}), model.nodes, model.inputs, names or model.outputs)
