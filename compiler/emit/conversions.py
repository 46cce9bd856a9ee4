"""Finds CPU parts that only quantise and dequantise. A driver can do these without onnxruntime."""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np
import onnx
from numpy.typing import NDArray
from onnx import numpy_helper

from isa.program import Conversion

_BYTES = (np.dtype("int8"), np.dtype("uint8"))
_PLAIN = ("axis",)
"""Attributes that change nothing if there is one scale."""


def conversions_of(model: bytes) -> tuple[Conversion, ...]:
    """The conversions of which a serialised part consists. There are none if it holds anything else."""
    graph = onnx.load_model_from_string(model).graph
    constants = {tensor.name: numpy_helper.to_array(tensor) for tensor in graph.initializer}
    outside = {value.name: value.type.tensor_type.elem_type for value in (*graph.input, *graph.output)}
    found = [_conversion(node, constants, outside) for node in graph.node]
    whole = [conversion for conversion in found if conversion is not None]
    made = {conversion.target for conversion in whole}
    if len(whole) != len(found) or made != {value.name for value in graph.output}:
        return ()
    return tuple(whole)


def _conversion(
    node: onnx.NodeProto, constants: Mapping[str, NDArray[np.generic]], outside: Mapping[str, int]
) -> Conversion | None:
    """The conversion of one node, from an input of the part to an output. None: it is not such a conversion."""
    if node.op_type not in ("QuantizeLinear", "DequantizeLinear") or node.domain or len(node.input) < 2:
        return None
    if any(attribute.name not in _PLAIN for attribute in node.attribute):
        return None
    scale = constants.get(node.input[1])
    named = len(node.input) > 2 and bool(node.input[2])
    zero = constants.get(node.input[2]) if named else np.zeros(1, np.uint8)
    source, target = node.input[0], node.output[0]
    if scale is None or zero is None or scale.size != 1 or zero.size != 1 or scale.dtype != np.float32:
        return None
    if source not in outside or target not in outside or zero.dtype not in _BYTES:
        return None
    real = outside[source if node.op_type == "QuantizeLinear" else target]
    value = float(scale.reshape(-1)[0])
    if real != onnx.TensorProto.FLOAT or not (math.isfinite(value) and value > 0):
        return None
    return Conversion(source, target, value, int(zero.reshape(-1)[0]))
