"""Writes weights in four bits where these suffice: the file needs half the bytes for the same numbers.

ONNX's kernels of quantised layers read int8. So each such constant becomes an INT4 one and a Cast, which onnxruntime folds when
it loads the model. INT4 needs operator set 21.
"""

from __future__ import annotations

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper, version_converter

from compiler.frontend.loading import loads

OPSET, IR_VERSION = 21, 10
"""The first versions that have INT4."""
WEIGHTS = {"QLinearConv": 3, "QLinearMatMul": 3, "QGemm": 3, "ConvInteger": 1, "MatMulInteger": 1}
"""The operand of each operator that holds weights."""
LEAST, MOST = -8, 7


def with_int4_weights(proto: onnx.ModelProto) -> onnx.ModelProto:
    """The model with such weights in INT4; the model itself, if no weights fit or onnxruntime refuses operator set 21."""
    narrow = [each for each in proto.graph.initializer if each.name in _weights(proto) and _fits(each)]
    moved = _moved(proto) if narrow else None
    if moved is None:
        return proto
    names = {each.name for each in narrow}
    kept = [each for each in moved.graph.initializer if each.name not in names]
    nodes = [helper.make_node("Cast", [_stored(name)], [name], f"{name}_cast", to=TensorProto.INT8) for name in sorted(names)]
    found = onnx.ModelProto()
    found.CopyFrom(moved)
    del found.graph.initializer[:], found.graph.node[:]
    found.graph.initializer.extend([*kept, *(_in_four_bits(each) for each in narrow)])
    found.graph.node.extend([*nodes, *moved.graph.node])
    found.ir_version = max(proto.ir_version, IR_VERSION)
    return found if loads(found.SerializeToString()) else proto


def _weights(proto: onnx.ModelProto) -> set[str]:
    """The tensors that layers read as weights, and that nothing else reads."""
    found, others = set[str](), {each.name for each in proto.graph.output}
    for node in proto.graph.node:
        for place, name in enumerate(node.input):
            (found if place == WEIGHTS.get(node.op_type) else others).add(name)
    return found - others


def _fits(tensor: onnx.TensorProto) -> bool:
    if tensor.data_type != TensorProto.INT8:
        return False
    values = numpy_helper.to_array(tensor)
    return values.size > 0 and values.min() >= LEAST and values.max() <= MOST


def _moved(proto: onnx.ModelProto) -> onnx.ModelProto | None:
    """The model in an operator set that has INT4; None, if the converter fails."""
    if any(each.domain == "" and each.version >= OPSET for each in proto.opset_import):
        return proto
    try:
        return version_converter.convert_version(proto, OPSET)
    except Exception:
        return None


def _in_four_bits(tensor: onnx.TensorProto) -> onnx.TensorProto:
    """The constant with two numbers in a byte, the first in the low bits."""
    values = numpy_helper.to_array(tensor)
    nibbles = values.reshape(-1).view(np.uint8) & 15
    pairs = np.append(nibbles, np.zeros(nibbles.size % 2, np.uint8)).reshape(-1, 2)
    packed = (pairs[:, 0] | pairs[:, 1] << 4).tobytes()
    return helper.make_tensor(_stored(tensor.name), TensorProto.INT4, values.shape, packed, raw=True)


def _stored(name: str) -> str:
    return f"{name}_int4"
