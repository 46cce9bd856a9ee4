"""Turns the form of PyTorch's older exporter into that of the newer one, by torch.export.

Both exporters of PyTorch 2.13 differ on small modules as follows: global pools are means over two dimensions, Flatten is a
Reshape, GELU is one node. Everything else in these networks is the same once constants are folded.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from onnx import ModelProto, NodeProto, helper, numpy_helper

OPSET = 20


def as_dynamo(model: ModelProto) -> ModelProto:
    """The same function in the newer form; the model is changed in place."""
    graph = model.graph
    shapes = {v.name: [d.dim_value for d in v.type.tensor_type.shape.dim] for v in (*graph.value_info, *graph.output)}
    makers = {node.output[0]: node for node in graph.node}
    found: list[NodeProto] = []
    dropped: set[str] = set()
    for node in graph.node:
        gelu = _gelu(node, makers)
        if node.op_type == "GlobalAveragePool":
            found.append(_mean(model, node, (2, 3), keepdims=1))
        elif node.op_type == "ReduceMean":
            attributes = {a.name: helper.get_attribute_value(a) for a in node.attribute}
            found.append(_mean(model, node, tuple(attributes["axes"]), keepdims=attributes.get("keepdims", 1)))
        elif node.op_type == "Flatten":
            shape = _constant(model, node, shapes[node.output[0]])
            found.append(helper.make_node("Reshape", [node.input[0], shape], node.output, name=node.name, allowzero=1))
        elif gelu is not None:
            dropped |= gelu[1]
            found.append(helper.make_node("Gelu", [gelu[0]], node.output, name=node.name, approximate="none"))
        else:
            found.append(node)
    _put(graph.node, [node for node in found if node.output[0] not in dropped])
    used = {name for node in graph.node for name in node.input}
    made = {name for node in graph.node for name in node.output}
    _put(graph.initializer, [value for value in graph.initializer if value.name in used])
    _put(graph.value_info, [value for value in graph.value_info if value.name in made])
    next(o for o in model.opset_import if o.domain == "").version = OPSET
    return model


def _gelu(last: NodeProto, makers: dict[str, NodeProto]) -> tuple[str, set[str]] | None:
    """The operand ``x`` of ``x * (erf(x / sqrt 2) + 1) * 0.5``, and the results in between."""
    product = makers.get(last.input[0]) if last.op_type == "Mul" else None
    if product is None or product.op_type != "Mul":
        return None
    lifted = makers.get(product.input[1])
    erf = makers.get(lifted.input[0]) if lifted is not None and lifted.op_type == "Add" else None
    scaled = makers.get(erf.input[0]) if erf is not None and erf.op_type == "Erf" else None
    if lifted is None or erf is None or scaled is None or scaled.input[0] != product.input[0]:
        return None
    return scaled.input[0], {node.output[0] for node in (product, lifted, erf, scaled)}


def _mean(model: ModelProto, node: NodeProto, axes: tuple[int, ...], keepdims: int) -> NodeProto:
    given = _constant(model, node, axes)
    return helper.make_node("ReduceMean", [node.input[0], given], node.output, name=node.name, keepdims=keepdims)


def _constant(model: ModelProto, node: NodeProto, value: Any) -> str:
    name = f"{node.output[0]}/given"
    model.graph.initializer.append(numpy_helper.from_array(np.array(value, np.int64), name))
    return name


def _put(values: Any, kept: list[Any]) -> None:
    del values[:]
    values.extend(kept)
