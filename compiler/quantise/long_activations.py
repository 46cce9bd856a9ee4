"""Gives chosen layers of a quantised model activations of 16 bits: steps 256 times finer, in the same range.

A tensor gets 16 bits where only chosen layers and the host make and read it. Any other tensor keeps 8 bits. Such a layer is
written between DequantizeLinear and QuantizeLinear of onnxruntime's own domain, where old operator sets know 16 bits, too.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from fnmatch import fnmatchcase

import numpy as np

from compiler.frontend.model import MICROSOFT, Array, Model, Node
from compiler.frontend.types import with_types
from compiler.quantise.statistics import CalibrationError

FINER = 256
_BIASES = {"QLinearConv": 8, "QGemm": 6}
_AVERAGES = {"QLinearAveragePool": "AveragePool", "QLinearGlobalAveragePool": "GlobalAveragePool"}
_SCALES = {"QLinearConv": 6, "QGemm": 7, **dict.fromkeys(_AVERAGES, 3)}
"""The layers, and the place of their output's scale among their inputs."""


@dataclass
class _Written:
    """Nodes and constants of the new model."""

    model: Model
    wide: Mapping[str, tuple[str, str]]
    """The names of scale and zero-point for each tensor that gets 16 bits."""
    constants: dict[str, Array]
    nodes: list[Node] = field(default_factory=list)

    def conversion(self, name: str, kind: str, source: str, given: Sequence[str], output: str, of: str, **more: object) -> None:
        """Writes a conversion; ``of`` is the quantised tensor."""
        domain = MICROSOFT if of in self.wide else ""
        self.nodes.append(Node(name, kind, (source, *self.wide.get(of, given)), (output,), more, domain))

    def layer(self, node: Node) -> None:
        at, x, y, name = _SCALES[node.op_type], node.inputs[0], node.output, node.name
        read, sums = f"{name}/real_read", f"{name}/real_sums"
        self.conversion(read, "DequantizeLinear", x, node.inputs[1:3], read, x)
        if node.op_type in _AVERAGES:
            attributes = {key: value for key, value in node.attributes.items() if key != "channels_last"}
            self.nodes.append(Node(name, _AVERAGES[node.op_type], (read,), (sums,), attributes))
        else:
            kind = "Conv" if node.op_type == "QLinearConv" else "Gemm"
            self.nodes.append(Node(name, kind, self._operands(node, read), (sums,), node.attributes))
        self.conversion(f"{sums}/quantised", "QuantizeLinear", sums, node.inputs[at : at + 2], y, y)

    def _operands(self, node: Node, read: str) -> tuple[str, ...]:
        """The inputs of the layer as real numbers: activations, weights and bias."""
        name, bias = node.name, node.input(_BIASES[node.op_type])
        x_scale, w, w_scale, w_zero = node.inputs[1], *node.inputs[3:6]
        rows = node.op_type == "QLinearConv" or bool(node.integer("transB", 0))
        axis = {"axis": 0 if rows else 1} if self.constants[w_scale].size > 1 else {}
        weights = f"{name}/real_weights"
        self.conversion(weights, "DequantizeLinear", w, (w_scale, w_zero), weights, w, **axis)
        inputs = [read, weights]
        if bias:
            unit = f"{name}/unit"
            self.constants[unit] = np.asarray(self.constants[x_scale] * self.constants[w_scale], np.float32)
            one = {"axis": 0} if self.constants[unit].size > 1 else {}
            inputs.append(f"{name}/real_biases")
            self.nodes.append(Node(inputs[-1], "DequantizeLinear", (bias, unit), (inputs[-1],), one))
        return tuple(inputs)


def with_long_activations(model: Model, only: Sequence[str]) -> Model:
    """The model with activations of 16 bits in these layers.

    ``only`` has names of layers, or patterns such as ``head/*``; if it is empty, all layers that the machine can run so are
    meant.
    """
    layers = _chosen(model, only)
    constants = dict(model.constants)
    wide: dict[str, tuple[str, str]] = {}
    producers, consumers = model.producers(), model.consumers()
    for node in layers.values():
        at = _SCALES[node.op_type]
        for name, scale, zero in (node.inputs[:3], (node.output, *node.inputs[at : at + 2])):
            maker = producers.get(name)
            made = maker is not None and (maker.name in layers or maker.op_type == "QuantizeLinear")
            read = all(
                reader.op_type == "DequantizeLinear" or (reader.name in layers and reader.inputs[0] == name)
                for reader in consumers.get(name, ())
            )
            signed = zero in constants and constants[zero].dtype == np.int8
            if name not in wide and made and read and signed and name not in model.outputs:
                wide[name] = f"{name}/scale16", f"{name}/zero_point16"
                constants[wide[name][0]] = np.asarray(constants[scale] / np.float32(FINER), np.float32)
                constants[wide[name][1]] = np.asarray(constants[zero].astype(np.int16) * FINER, np.int16)
    written = _Written(model, wide, constants)
    for node in model.nodes:
        if node.name in layers and (node.inputs[0] in wide or node.output in wide):
            written.layer(node)
        elif node.op_type == "QuantizeLinear" and node.output in wide:
            written.conversion(node.name, node.op_type, node.inputs[0], (), node.output, node.output)
        elif node.op_type == "DequantizeLinear" and node.inputs[0] in wide:
            written.conversion(node.name, node.op_type, node.inputs[0], (), node.output, node.inputs[0])
        else:
            written.nodes.append(node)
    opsets = {**model.opsets, MICROSOFT: model.opsets.get(MICROSOFT, 1)}
    return with_types(replace(model, opsets=opsets).with_nodes(written.nodes, constants))


def _chosen(model: Model, only: Sequence[str]) -> dict[str, Node]:
    """The chosen layers among those that may have 16 bits on the machine, by name."""
    known = {n.name: n for n in model.nodes if n.op_type in _SCALES and _suits(n)}
    if not only:
        return known
    found: dict[str, Node] = {}
    for pattern in only:
        hit = {name: node for name, node in known.items() if name == pattern or fnmatchcase(name, pattern)}
        if not hit:
            some = ", ".join([*known][:5]) or "none"
            raise CalibrationError(f"activations of 16 bits: no layer is called {pattern!r}; known are {some}")
        found |= hit
    return found


def _suits(node: Node) -> bool:
    """Whether a layer can have 16 bits: all but averages that leave out their padding, or that have their channels last."""
    if node.op_type not in _AVERAGES:
        return True
    padded = any(node.integers("pads", ())) or node.integer("ceil_mode", 0) or node.text("auto_pad", "NOTSET") != "NOTSET"
    return not node.integer("channels_last", 0) and (not padded or node.integer("count_include_pad", 0) == 1)
