"""Float models on an operator set that has the quantised forms."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np
from onnx import numpy_helper, version_converter

from compiler.frontend.errors import ModelError
from compiler.frontend.model import MICROSOFT, Array, Model, Node, TensorType, from_node_proto, part_proto
from compiler.frontend.session import RuntimeRefusal, run
from compiler.quantise.noise import decibels
from compiler.quantise.statistics import noise_for

TARGET = 13
"""DequantizeLinear per channel, Clip and MaxPool on int8."""
_SPELT = 11
"""Resize says how it rounds, and Pad has its value as an input."""
_ALIKE = 60.0
"""The decibels above which two models compute the same in float32."""
_SMALL = 64
"""The most elements of a constant that the converter sees. Larger ones are weights."""


def modernised(model: Model) -> Model:
    """The model on operator set ``TARGET`` or newer, with the operators of onnxruntime's own domain."""
    version = model.opsets.get("", 0)
    opsets = {**model.opsets, "": max(version, TARGET), MICROSOFT: model.opsets.get(MICROSOFT, 1)}
    if version >= TARGET:
        return replace(model, opsets=opsets)
    large = [name for name, value in model.constants.items() if value.size > _SMALL]
    declared = {name: TensorType(model.elem(name), model.constants[name].shape) for name in large}
    small = {k: v for k, v in model.constants.items() if k not in declared}
    bare = replace(model, constants=small, types={**model.types, **declared}, opsets={**model.opsets, "": version})
    try:
        proto = version_converter.convert_version(part_proto(bare, model.nodes, [*model.inputs, *large], model.outputs), TARGET)
    except Exception as error:  # the converter raises whatever its C++ side threw
        raise ModelError(
            f"model {model.name}: operator set {version} cannot be converted to {TARGET} for quantisation "
            f"({' '.join(str(error).split())[:120]}); export the model with operator set {TARGET}"
        ) from None
    constants: dict[str, Array] = dict(model.constants)
    constants |= {t.name: numpy_helper.to_array(t) for t in proto.graph.initializer}
    nodes = [from_node_proto(n, n.name or f"{n.op_type}_{i}") for i, n in enumerate(proto.graph.node)]
    if version < _SPELT:
        nodes = [_spelt_out(node, constants) for node in nodes]
    converted = replace(model, nodes=tuple(nodes), constants=constants, opsets=opsets)
    _check_values(model, converted, declared)
    return converted


def _check_values(model: Model, converted: Model, large: Mapping[str, TensorType]) -> None:
    """Refuses a conversion that changes what the model computes from noise. A model that cannot run on noise is not checked.

    ``large``: the constants that both models get as inputs.
    """
    feeds = {**noise_for(model), **{name: model.constants[name] for name in large}}

    def outputs(each: Model) -> dict[str, Array]:
        small = {name: value for name, value in each.constants.items() if name not in large}
        bare = replace(each, constants=small, types={**model.types, **large})
        return run(part_proto(bare, each.nodes, [*model.inputs, *large], model.outputs), feeds)

    try:
        expected = outputs(model)
    except RuntimeRefusal:
        return
    found = outputs(converted)
    for name, value in expected.items():
        if not _alike(value, found[name]) and _alike(value, outputs(model)[name]):
            raise ModelError(
                f"output {name}: onnx's converter from operator set {model.opsets.get('', 0)} to {TARGET} gives it other "
                f"values; export the model with operator set {TARGET}"
            )


def _alike(expected: Array, found: Array) -> bool:
    """Whether both are equal, but for the last bits that the order of sums changes."""
    if expected.dtype.kind != "f":
        return np.array_equal(expected, found)
    finite = np.isfinite(expected)
    if not np.array_equal(finite, np.isfinite(found)):
        return False
    signal, noise = (np.square(v[finite].astype(np.float64)).sum() for v in (expected, found - expected))
    return decibels(signal, noise) > _ALIKE


def _spelt_out(node: Node, constants: Mapping[str, Array]) -> Node:
    """The node with what the converter leaves out: since operator set 11 Resize and Pad say more."""
    if node.op_type == "Pad":
        return replace(node, attributes={k: v for k, v in node.attributes.items() if k != "value"})
    if node.op_type != "Resize":
        return node
    scales = constants.get(node.input(2), np.ones(1))
    if scales.min() < 1 < scales.max() and node.text("mode", "nearest") == "nearest":
        raise ModelError(
            f"node {node.name}: scales {scales.tolist()} make one side smaller and another larger, and before operator set "
            f"{_SPELT} each is rounded another way; export the model with operator set {TARGET}"
        )
    rounding = "ceil" if scales.min() < 1 else "floor"
    return replace(
        node, attributes={**node.attributes, "coordinate_transformation_mode": "asymmetric", "nearest_mode": rounding}
    )
