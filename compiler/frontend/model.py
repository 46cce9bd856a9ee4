"""An ONNX model as plain Python: nodes, constants as arrays, and the type of every tensor."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import onnx
from numpy.typing import NDArray
from onnx import helper, numpy_helper

from compiler.definitions.by_name import definition
from compiler.definitions.integer_graph import DOMAIN

Array = NDArray[Any]

IR_VERSION = 10
MICROSOFT = "com.microsoft"
LARGE = 4096
"""The bytes from which on a constant is left out of a hollow model."""


@dataclass(frozen=True)
class TensorType:
    """The element type (of ``onnx.TensorProto``) and the shape; a shape of ``None`` is known only when the model runs."""

    elem: int
    shape: tuple[int, ...] | None


@dataclass(frozen=True, eq=False)
class Node:
    """One operation; ``inputs`` that are left out are empty names."""

    name: str
    op_type: str
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    attributes: Mapping[str, Any] = field(default_factory=dict)
    domain: str = ""

    @property
    def output(self) -> str:
        return self.outputs[0]

    def text(self, name: str, default: str) -> str:
        value = self.attributes.get(name, default)
        return value.decode() if isinstance(value, bytes) else str(value)

    def integer(self, name: str, default: int) -> int:
        return int(self.attributes.get(name, default))

    def integers(self, name: str, default: Sequence[int]) -> tuple[int, ...]:
        return tuple(int(v) for v in self.attributes.get(name, default))

    def input(self, index: int) -> str:
        """The name of an input; empty if the input is left out."""
        return self.inputs[index] if index < len(self.inputs) else ""

    def reads(self) -> Iterator[str]:
        """All tensors that the node reads, also those that its subgraphs take from outside."""
        yield from (name for name in self.inputs if name)
        yield from self.captures()

    def captures(self) -> Iterator[str]:
        """The tensors that the node's inner graphs take from outside."""
        for value in self.attributes.values():
            if isinstance(value, onnx.GraphProto):
                yield from _captured(value)


def _captured(graph: onnx.GraphProto) -> Iterator[str]:
    inside = {v.name for v in graph.input} | {t.name for t in graph.initializer}
    for proto in graph.node:
        yield from (name for name in from_node_proto(proto).reads() if name not in inside)
        inside |= set(proto.output)
    yield from (v.name for v in graph.output if v.name not in inside)


@dataclass(frozen=True, eq=False)
class Model:
    """A model with its nodes in topological order. Every tensor is a constant, an input or a node's output."""

    name: str
    nodes: tuple[Node, ...]
    constants: Mapping[str, Array]
    types: Mapping[str, TensorType]
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    opsets: Mapping[str, int]
    loose: frozenset[str] = frozenset()
    """Inputs whose sizes are hidden from onnxruntime, which would refuse a branch that is never taken."""

    def shape(self, name: str) -> tuple[int, ...] | None:
        if name in self.constants:
            return self.constants[name].shape
        known = self.types.get(name)
        return known.shape if known else None

    def elem(self, name: str) -> int:
        if name in self.constants:
            return helper.np_dtype_to_tensor_dtype(self.constants[name].dtype)
        known = self.types.get(name)
        return known.elem if known else onnx.TensorProto.UNDEFINED

    def producers(self) -> dict[str, Node]:
        return {name: node for node in self.nodes for name in node.outputs if name}

    def consumers(self) -> dict[str, list[Node]]:
        table: dict[str, list[Node]] = {}
        for node in self.nodes:
            for name in dict.fromkeys(node.reads()):
                table.setdefault(name, []).append(node)
        return table

    def with_nodes(self, nodes: Iterable[Node], constants: Mapping[str, Array] | None = None) -> Model:
        """The same model with other nodes; constants that nobody reads are dropped."""
        nodes = tuple(nodes)
        table = self.constants if constants is None else constants
        used = {name for node in nodes for name in node.reads()} | set(self.outputs)
        return replace(self, nodes=nodes, constants={k: v for k, v in table.items() if k in used})


def from_node_proto(proto: onnx.NodeProto, name: str = "") -> Node:
    attributes = {a.name: helper.get_attribute_value(a) for a in proto.attribute}
    domain = "" if proto.domain == "ai.onnx" else proto.domain
    return Node(name or proto.name, proto.op_type, tuple(proto.input), tuple(proto.output), attributes, domain)


def node_proto(node: Node) -> onnx.NodeProto:
    attributes = {k: v for k, v in node.attributes.items() if not (isinstance(v, list | tuple) and not v)}
    return helper.make_node(node.op_type, node.inputs, node.outputs, node.name, domain=node.domain, **attributes)


def part_proto(model: Model, nodes: Sequence[Node], inputs: Sequence[str], outputs: Sequence[str]) -> onnx.ModelProto:
    """A runnable model of some of the nodes."""
    used = dict.fromkeys([*(name for node in nodes for name in node.reads()), *outputs])
    graph = helper.make_graph(
        [node_proto(node) for node in nodes],
        model.name or "model",
        [_value_info(model, name) for name in inputs],
        [_value_info(model, name) for name in outputs],
        [numpy_helper.from_array(model.constants[k], k) for k in used if k in model.constants],
    )
    opsets = [helper.make_opsetid(domain, version) for domain, version in model.opsets.items()]
    called = dict.fromkeys(node.op_type for node in nodes if node.domain == DOMAIN)
    functions = [definition(name, model.opsets.get("", 0)) for name in called]
    return helper.make_model(
        graph, opset_imports=opsets, ir_version=IR_VERSION, producer_name="tilewright", functions=functions
    )  # fmt: skip


def large_constants(model: Model) -> dict[str, Array]:
    """The constants that shape inference does not need, and that take most of a model's bytes."""
    return {k: v for k, v in model.constants.items() if v.dtype == np.float32 and v.nbytes >= LARGE}


def hollow_proto(model: Model, outputs: Sequence[str]) -> onnx.ModelProto:
    """The model without its large constants, which a session gets as arrays: it is faster than to write and parse them."""
    large = large_constants(model)
    rest = {k: v for k, v in model.constants.items() if k not in large}
    proto = part_proto(replace(model, constants=rest), model.nodes, model.inputs, outputs)
    for name, value in large.items():
        tensor = proto.graph.initializer.add(
            name=name, data_type=onnx.TensorProto.FLOAT, dims=value.shape, data_location=onnx.TensorProto.EXTERNAL
        )
        tensor.external_data.add(key="location", value="memory")
    return proto


def to_proto(model: Model) -> onnx.ModelProto:
    return part_proto(model, model.nodes, model.inputs, model.outputs)


def _value_info(model: Model, name: str) -> onnx.ValueInfoProto:
    elem = model.elem(name)
    if elem == onnx.TensorProto.UNDEFINED:
        return onnx.ValueInfoProto(name=name)
    shape: Sequence[int | None] | None = model.shape(name)
    if shape is not None and name in model.loose:
        shape = [None] * len(shape)
    return helper.make_tensor_value_info(name, elem, shape)


def scalar(value: Array) -> Any:
    """The only element of an array."""
    return np.asarray(value).reshape(-1)[0]
