"""Writes ONNX nodes for TFLite's tensors: each tensor as stored and in float, those of four dimensions in NHWC and NCHW.

Feature maps are NHWC in TFLite. Operators that ONNX computes in NCHW read and write the other form. A Transpose of the stored
values stands between the two, if both are needed.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import onnx
from onnx import helper, numpy_helper

from compiler.frontend.errors import ModelError
from compiler.frontend.session import RuntimeRefusal, run
from compiler.frontend.tflite.constants import folded
from compiler.frontend.tflite.file import Array, Graph, Tensor

OPSET = 21
TO_FIRST, TO_LAST = (0, 3, 1, 2), (0, 2, 3, 1)
"""The orders of dimensions from NHWC to NCHW, and back."""
FIRST_AXIS = (0, 2, 3, 1)
"""The place in NCHW of each dimension of NHWC."""


class Writer:
    """The ONNX nodes of a graph. In all methods ``first`` asks for channels first, if the tensor has four dimensions."""

    def __init__(self, graphs: Mapping[int, Graph], where: str, graph: Graph, taken: set[str] | None = None) -> None:
        """Starts a graph; ``taken`` are the names of the graphs around it."""
        self.graphs, self.where, self.graph = graphs, where, graph
        self.tensors = [*graph.tensors]
        self.nodes: list[onnx.NodeProto] = []
        self.constants: dict[str, Array] = {}
        self._taken: set[str] = set() if taken is None else taken
        self._taken.update(tensor.name for tensor in graph.tensors)
        self._stored: dict[tuple[int, bool], str] = {(n, False): graph.tensors[n].name for n in graph.inputs}
        self._float: dict[tuple[int, bool], str] = {}
        self.types: dict[str, onnx.ValueInfoProto] | None = None
        """The types of the nodes' results, if other sizes are asked for than those of the file (``sizes.py``)."""

    def inner(self, number: int, label: str, given: Mapping[int, int]) -> Writer:
        """A writer of a graph that is called. ``given`` has the tensors of this graph that its inputs take from outside.

        Its other inputs are its own, under their own names.
        """
        called = self.graphs[number]
        tensors = [replace(tensor, name=self.name(f"{label}/{tensor.name}")) for tensor in called.tensors]
        for place, outer in given.items():
            mine = self.tensor(outer)
            tensors[called.inputs[place]] = replace(tensors[called.inputs[place]], shape=mine.shape, data=mine.data)
        made = Writer(self.graphs, self.where, folded(replace(called, tensors=tuple(tensors))), self._taken)
        made.types = self.types
        for place, outer in given.items():
            key = called.inputs[place], False
            if self.tensor(outer).data is None:
                made._stored[key] = self.stored(outer)
            else:
                del made._stored[key]
        return made

    # Nodes

    def node(self, op_type: str, inputs: Sequence[str], label: str, **attributes: Any) -> str:
        """Adds a node, and returns the name of its only result, which begins with ``label``."""
        return self.several(op_type, inputs, [label], **attributes)[0]

    def several(self, op_type: str, inputs: Sequence[str], labels: Sequence[str], **attributes: Any) -> list[str]:
        made = [self.name(label) for label in labels]
        self.nodes.append(helper.make_node(op_type, inputs, made, f"{made[0]}/{op_type}", **attributes))
        return made

    def constant(self, label: str, value: Array | np.generic) -> str:
        name = self.name(label)
        self.constants[name] = np.asarray(value, order="C")
        return name

    def name(self, label: str) -> str:
        """A name that nothing has yet."""
        name, count = label, 1
        while name in self._taken:
            count += 1
            name = f"{label}_{count}"
        self._taken.add(name)
        return name

    # Tensors

    def tensor(self, number: int) -> Tensor:
        return self.tensors[number]

    def known(self, number: int, what: str) -> Array:
        """The values of a tensor that must be constant, or depend on constants and shapes alone."""
        tensor = self.tensor(number)
        if tensor.data is not None:
            return tensor.data
        made = self.stored(number)
        if made in self.constants:
            return self.constants[made]
        try:
            found: Array = run(self._until(made), {})[made]
        except RuntimeRefusal:
            raise ModelError(
                f"{self.where}: {what} {tensor.name} depends on what the model is run with; constants are expected, "
                "or what is made of shapes: convert the model with fixed ones"
            ) from None
        return found

    def _until(self, name: str) -> onnx.ModelProto:
        """A model without inputs that makes a tensor, which must depend on no input."""
        makers = {made: node for node in self.nodes for made in node.output}
        needed, waiting = set[str](), [name]
        while waiting:
            found = makers.get(waiting.pop())
            if found is not None and found.name not in needed:
                needed.add(found.name)
                waiting += found.input
        nodes = [node for node in self.nodes if node.name in needed]
        read = {name for node in nodes for name in node.input} | {name}
        known = [numpy_helper.from_array(value, key) for key, value in self.constants.items() if key in read]
        graph = helper.make_graph(nodes, "constant", [], [onnx.ValueInfoProto(name=name)], known)
        return helper.make_model(graph, opset_imports=[helper.make_opsetid("", OPSET)], ir_version=10)

    def stored_form(self, number: int) -> tuple[str, bool]:
        """The name under which a tensor was put, and whether it has channels first there."""
        first = (number, False) not in self._stored
        return self._stored[number, first], first

    def stored(self, number: int, first: bool = False) -> str:
        """The name of the tensor as the file stores it, quantised or not."""
        tensor = self.tensor(number)
        first = first and len(tensor.shape) == 4
        key, other = (number, first), (number, not first)
        if key not in self._stored:
            label = f"{tensor.name}/nchw" if first else tensor.name
            if tensor.data is not None:
                value = tensor.data.transpose(TO_FIRST) if first else tensor.data
                self._stored[key] = self.constant(f"{label}/constant", value)
            elif other not in self._stored:
                raise ModelError(f"{self.where}: tensor {tensor.name}: is read before it is made; convert the model again")
            else:
                perm = TO_FIRST if first else TO_LAST
                self._stored[key] = self.node("Transpose", [self._stored[other]], f"{label}/moved", perm=perm)
        return self._stored[key]

    def value(self, number: int, first: bool = False) -> str:
        """The name of the tensor in float, if it is quantised; else as it is stored."""
        tensor = self.tensor(number)
        first = first and len(tensor.shape) == 4
        key = number, first
        if key not in self._float:
            axis = FIRST_AXIS[tensor.axis] if first else tensor.axis
            self._float[key] = self.real(self.stored(number, first), tensor, axis)
        return self._float[key]

    def real(self, stored: str, tensor: Tensor, axis: int = 0) -> str:
        """The name of the float form of a stored form, whatever its shape."""
        if tensor.dtype == np.float16:
            return self.node("Cast", [stored], f"{tensor.name}/float", to=onnx.TensorProto.FLOAT)
        if not tensor.quantised:
            return stored
        if tensor.dtype == np.int64 and stored in self.constants:
            stored, tensor = self._narrower(stored, tensor)
        attributes = {"axis": axis} if tensor.scale.size > 1 else {}
        return self.node("DequantizeLinear", [stored, *self._quantisation(tensor)], f"{tensor.name}/float", **attributes)

    def _narrower(self, stored: str, tensor: Tensor) -> tuple[str, Tensor]:
        """A bias of 64 bits, as it comes with inputs of 16 bits, as one of 32 bits, which ONNX knows."""
        value = self.constants[stored]
        if (np.abs(value) >= 1 << 31).any():
            raise ModelError(
                f"{self.where}: bias {tensor.name} is {int(np.abs(value).max())} at most, less than 2^31 is expected; "
                "quantise the model again with greater scales"
            )
        return self.constant(f"{stored}/int32", value.astype(np.int32)), replace(tensor, dtype=np.dtype(np.int32))

    def shaped(self, number: int, value: Array, axis: int = 0) -> str:
        """The name of a constant in another shape, in float; ``axis`` is the dimension of its scales there."""
        return self.real(self.constant(f"{self.tensor(number).name}/constant", value), self.tensor(number), axis)

    def put(self, number: int, result: str, first: bool = False) -> None:
        """Makes the float result of an operator a tensor."""
        tensor = self.tensor(number)
        if tensor.quantised:
            label = f"{tensor.name}/quantised"
            result = self.node("QuantizeLinear", [result, *self._quantisation(tensor)], label)
        elif tensor.dtype == np.float16:
            result = self.node("Cast", [result], f"{tensor.name}/half", to=onnx.TensorProto.FLOAT16)
        self.put_stored(number, result, first)

    def put_stored(self, number: int, result: str, first: bool = False) -> None:
        self._stored[number, first and len(self.tensor(number).shape) == 4] = result

    def _quantisation(self, tensor: Tensor) -> tuple[str, str]:
        per_tensor = tensor.scale.size == 1
        parts = (tensor.scale, tensor.zero_point.astype(tensor.dtype))
        names = ("scale", "zero_point")
        found = []
        for name, part in zip(names, parts, strict=True):
            full = f"{tensor.name}/{name}"
            self._taken.add(full)
            self.constants[full] = part.reshape(()) if per_tensor else part
            found.append(full)
        return found[0], found[1]

    # The model

    def model(self) -> onnx.ModelProto:
        graph = self.graph
        for number in graph.outputs:
            name = self.tensor(number).name
            if self.stored(number) != name:
                self.nodes.append(helper.make_node("Identity", [self.stored(number)], [name], f"{name}/Identity"))
        inputs, outputs = ([self.info(number) for number in numbers] for numbers in (graph.inputs, graph.outputs))
        made = self.proto("tflite", inputs, outputs)
        return helper.make_model(made, opset_imports=[helper.make_opsetid("", OPSET)], ir_version=10)

    def proto(
        self, name: str, inputs: Sequence[onnx.ValueInfoProto], outputs: Sequence[onnx.ValueInfoProto]
    ) -> onnx.GraphProto:
        constants = [numpy_helper.from_array(value, key) for key, value in self.constants.items()]
        return helper.make_graph(self.nodes, name, inputs, outputs, constants)

    def info(self, number: int) -> onnx.ValueInfoProto:
        """The type of a tensor. A size that the file leaves open is 1 there; except for the batch, it stays open."""
        tensor = self.tensor(number)
        elem = helper.np_dtype_to_tensor_dtype(tensor.dtype)
        free = {axis for axis, left in enumerate(tensor.free) if left and axis > 0} if self.types is None else set()
        sizes = [None if size == 1 and axis in free else size for axis, size in enumerate(tensor.shape)]
        return helper.make_tensor_value_info(tensor.name, elem, sizes)
