"""Spells out the float forms of quantised tensors that inner graphs read: onnxruntime aborts where they are DequantizeLinear.

From its basic optimisations on, onnxruntime gives each reader a DequantizeLinear of its own, by the tensor's place among the
reader's inputs. What If, Loop and Scan take from outside has no such place. ``(q - zero-point) * scale`` is the same in every
bit.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import onnx

from compiler.frontend.model import Model, Node

_ELEMS = (onnx.TensorProto.INT8, onnx.TensorProto.UINT8, onnx.TensorProto.INT16, onnx.TensorProto.UINT16)


def with_captures_spelt_out(model: Model) -> Model:
    """The model with such forms spelt out under the tensor's name for inner graphs; others read a DequantizeLinear."""
    captured = {name for node in model.nodes for name in node.captures()}
    outer = {
        node.output: f"{node.output}/outside"
        for node in model.nodes
        if node.op_type == "DequantizeLinear" and node.output in captured and _per_tensor(model, node)
    }
    if not outer:
        return model
    nodes: list[Node] = []
    constants = dict(model.constants)
    types = dict(model.types)
    for node in model.nodes:
        inputs = tuple(outer.get(name, name) for name in node.inputs)
        if node.op_type != "DequantizeLinear" or node.output not in outer:
            nodes.append(replace(node, inputs=inputs))
            continue
        name, real = node.output, f"{node.output}/outside"
        if name in types:
            types |= dict.fromkeys((real, f"{name}/whole", f"{name}/from_zero"), types[name])
        zero = model.constants[node.input(2)] if node.input(2) else np.zeros(())
        constants[f"{name}/zero_point"] = np.asarray(zero, np.float32).reshape(())
        constants[f"{name}/scale"] = model.constants[node.inputs[1]].reshape(())
        nodes += [
            replace(node, inputs=inputs, outputs=(real,)),
            Node(f"{name}/Cast", "Cast", (node.inputs[0],), (f"{name}/whole",), {"to": onnx.TensorProto.FLOAT}),
            Node(f"{name}/Sub", "Sub", (f"{name}/whole", f"{name}/zero_point"), (f"{name}/from_zero",)),
            Node(f"{name}/Mul", "Mul", (f"{name}/from_zero", f"{name}/scale"), (name,)),
        ]
    read = {name for node in nodes for name in node.reads()} | set(model.outputs)
    kept = [node for node in nodes if read.intersection(node.outputs)]
    return replace(model, types=types).with_nodes(kept, constants)


def _per_tensor(model: Model, node: Node) -> bool:
    scale, zero = model.constants.get(node.inputs[1]), model.constants.get(node.input(2))
    known = not node.input(2) or (zero is not None and zero.size == 1)
    return scale is not None and scale.size == 1 and scale.dtype == np.float32 and known and _elem(model, node) in _ELEMS


def _elem(model: Model, node: Node) -> int:
    return model.elem(node.input(2)) if node.input(2) else onnx.TensorProto.UINT8
