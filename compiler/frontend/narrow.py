"""Turns constants of four bits into int8 constants of the same numbers, which the kernels of eight bits take."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from onnx import TensorProto

from compiler.frontend.model import Array, Model

MIDDLE = 8
"""The number that is taken off an unsigned number and off its zero-point, so that both have four signed bits."""


def with_wide_constants(model: Model) -> Model:
    """The model with weights of four bits, and their zero-points, in int8, where only DequantizeLinear reads them."""
    readers = model.consumers()
    made: dict[str, Array] = {}
    nodes = []
    for node in model.nodes:
        name, zero = node.input(0), node.input(2)
        kind = model.elem(name) if name in model.constants else None
        own = [each for each in (name, zero) if each]
        alone = all(reader.op_type == "DequantizeLinear" for each in own for reader in readers[each])
        narrow = kind in (TensorProto.INT4, TensorProto.UINT4) and not node.integer("block_size", 0)
        if node.op_type == "DequantizeLinear" and narrow and alone:
            off = MIDDLE if kind == TensorProto.UINT4 else 0
            made |= {each: (model.constants[each].astype(np.int16) - off).astype(np.int8) for each in own}
            if off and not zero:
                zero = f"{name}_zero_point"
                made[zero] = np.full_like(model.constants[node.inputs[1]], -off, np.int8)
                node = replace(node, inputs=(*node.inputs[:2], zero))
        nodes.append(node)
    return model.with_nodes(nodes, {**model.constants, **made}) if made else model
