"""Models in which integer definitions stand for what onnxruntime computes in float (``compiler/definitions``)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace

import numpy as np
import onnx

from compiler.definitions.integer_graph import DOMAIN
from compiler.definitions.rows import DIVISORS, INPUTS, NORMALISATION, SOFTMAX
from compiler.frontend.importer.rows import Defined
from compiler.frontend.model import Array, Model, Node
from compiler.xgraph.row_operations import Softmax

INTEGERS = "/integers"
"""The ending of the second name of a result that is made twice."""


def with_definitions(model: Model, found: Iterable[Defined]) -> Model:
    """The model with each definition in the place of its node; what nobody reads any more is left out."""
    by_node = {each.node: each for each in found}
    if not by_node:
        return model
    constants: dict[str, Array] = dict(model.constants)
    nodes: list[Node] = []
    for node in model.nodes:
        each = by_node.get(node.name)
        nodes += [node] if each is None else _calls(each, each.op.name, node.output, constants)
    wanted, kept = {*model.outputs}, list[Node]()
    for node in reversed(nodes):
        if not wanted.isdisjoint(node.outputs):
            kept.insert(0, node)
            wanted.update(node.reads())
    return replace(model, opsets=_opsets(model)).with_nodes(kept, constants)


def beside_definitions(model: Model, found: Iterable[Defined]) -> Model:
    """The model with each definition beside its node, on the same operand.

    The results of both are outputs; the definition's is ``.../integers``.
    """
    outputs = {node.name: node.output for node in model.nodes}
    constants: dict[str, Array] = dict(model.constants)
    nodes = [*model.nodes]
    names: list[str] = []
    for each in found:
        names += [outputs[each.node], outputs[each.node] + INTEGERS]
        nodes += _calls(each, names[-1], names[-1], constants)
    types = {name: model.types[name.removesuffix(INTEGERS)] for name in names}
    model = replace(model, outputs=tuple(names), types={**model.types, **types}, opsets=_opsets(model))
    return model.with_nodes(nodes, constants)


def _opsets(model: Model) -> Mapping[str, int]:
    return {**model.opsets, DOMAIN: 1}


def _calls(each: Defined, label: str, output: str, constants: dict[str, Array]) -> list[Node]:
    """The call of a definition, with its constants. A float operand is quantised first, which loses nothing."""
    op, target, nodes, stored = each.op, each.target, list[Node](), each.source

    def constant(name: str, value: Array) -> str:
        name = f"{output}/{name}"
        constants[name] = value
        return name

    if each.params is not None:
        kind = np.uint8 if each.params.unsigned else np.int8
        scale, zero = constant("scale", np.array(each.params.scale, np.float32)), np.array(each.params.stored, kind)
        stored = f"{output}/source"
        nodes.append(Node(stored, "QuantizeLinear", (each.source, scale, constant("zero_point_of_x", zero)), (stored,)))
    low, high = (0, 255) if target.unsigned else (-128, 127)
    numbers: dict[str, object] = {"zero_point": target.stored, "low": low, "high": high}
    if isinstance(op, Softmax):
        name = SOFTMAX
        numbers |= {"e": op.e, "t": op.t}
    else:
        name = NORMALISATION
        zero_point = 0 if each.params is None else each.params.stored
        numbers |= {"x_zero_point": zero_point, "k": op.k, "g": op.g, "b": op.b}
        numbers |= {"divisor": DIVISORS[op.shift], "centred": int(not op.rms)}
    inputs = [constant(key, np.asarray(numbers[key], np.int64)) for key in INPUTS[name][1:]]
    to = onnx.TensorProto.UINT8 if target.unsigned else onnx.TensorProto.INT8
    return [*nodes, Node(label, name, (stored, *inputs), (output,), {"to": to}, DOMAIN)]
