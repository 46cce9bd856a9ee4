"""Float models on an operator set that has the quantised forms."""

from __future__ import annotations

from dataclasses import replace

from onnx import numpy_helper, version_converter

from compiler.frontend.errors import ModelError
from compiler.frontend.model import MICROSOFT, Array, Model, TensorType, from_node_proto, part_proto

TARGET = 13
"""DequantizeLinear per channel, Clip and MaxPool on int8."""
_SMALL = 64
"""Larger constants are weights; the converter need not see them."""


def modernised(model: Model) -> Model:
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
    nodes = tuple(from_node_proto(n, n.name or f"{n.op_type}_{i}") for i, n in enumerate(proto.graph.node))
    return replace(model, nodes=nodes, constants=constants, opsets=opsets)
