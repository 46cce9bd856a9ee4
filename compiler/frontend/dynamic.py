"""Turns dynamically quantised models back into float models: calibration data then gives the scales before the run.

A tensor that DynamicQuantizeLinear takes is read as it is, with the scale 1 and the zero-point 0. Integer products of it with
constant weights become float products. The nodes that multiply them by the scales stay, and are folded like any factor.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from compiler.frontend.folding import fold_constants
from compiler.frontend.idle_nodes import without_idle_nodes
from compiler.frontend.model import Array, Model, Node
from compiler.frontend.types import with_types

PRODUCTS = {"MatMulInteger": "MatMul", "ConvInteger": "Conv", "MatMulIntegerToFloat": "MatMul"}
_SCALED = "DynamicQuantizeMatMul"
"""The operator that reads a float tensor; the others read the result of DynamicQuantizeLinear."""


def as_float(model: Model) -> Model:
    """The float model; the model itself, if nothing in it is quantised dynamically or an unknown node reads what is."""
    makers = {node.output: node for node in model.nodes if node.op_type == "DynamicQuantizeLinear"}
    readers = model.consumers()
    known = all(
        node.op_type in PRODUCTS and node.inputs[0] == name and _constant(model, node)
        for name in makers for node in readers.get(name, ())
    )  # fmt: skip
    scaled = [node for node in model.nodes if node.op_type == _SCALED and _constant(model, node)]
    if not known or not (makers or scaled):
        return model
    constants: dict[str, Array] = dict(model.constants)
    nodes: list[Node] = []
    for node in model.nodes:
        if node.op_type == "DynamicQuantizeLinear":
            constants |= {node.outputs[1]: np.array(1, np.float32), node.outputs[2]: np.array(0, np.uint8)}
        elif node.op_type in PRODUCTS and node.inputs[0] in makers:
            nodes += _product(node, makers[node.inputs[0]].inputs[0], constants)
        elif node in scaled:
            nodes += _product(node, node.inputs[0], constants)
        else:
            nodes.append(node)
    return with_types(without_idle_nodes(fold_constants(with_types(model.with_nodes(nodes, constants)))))


def _places(node: Node) -> tuple[int, int, int]:
    """The places of the inputs for the weights' scale, their zero-point and the bias; -1 where there is none."""
    if node.op_type == _SCALED:
        return 2, 3, 4
    return (3, 5, 6) if node.op_type == "MatMulIntegerToFloat" else (-1, 3, -1)


def _optional(node: Node, place: int) -> str:
    return node.input(place) if place >= 0 else ""


def _constant(model: Model, node: Node) -> bool:
    scale, zero, _ = _places(node)
    return all(name in model.constants for name in (node.input(1), _optional(node, scale), _optional(node, zero)) if name)


def _product(node: Node, source: str, constants: dict[str, Array]) -> list[Node]:
    """The float product, named as the integer result that it replaces, and the sum with the bias."""
    scale, zero, bias = _places(node)
    whole = constants[node.inputs[1]].astype(np.float32)
    weights = f"{node.output}/float_weights"
    shift = constants[_optional(node, zero)].astype(np.float32) if _optional(node, zero) else np.zeros((), np.float32)
    if node.op_type == "ConvInteger":
        shift = shift.reshape(-1, *(1,) * (whole.ndim - 1)) if shift.ndim else shift
    factor = constants[_optional(node, scale)] if _optional(node, scale) else np.ones((), np.float32)
    constants[weights] = ((whole - shift) * factor).astype(np.float32)
    kind = PRODUCTS.get(node.op_type, "MatMul")
    if not _optional(node, bias):
        return [replace(node, op_type=kind, domain="", inputs=(source, weights))]
    made = f"{node.output}/float_product"
    return [
        Node(f"{node.name}/product", kind, (source, weights), (made,)),
        Node(node.name, "Add", (made, node.inputs[bias]), (node.output,)),
    ]
