"""Finds the sizes of tensors when an input gets another size than in the file: operator by operator, from the nodes made."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import replace

import numpy as np
import onnx
from onnx import helper, numpy_helper, shape_inference

from compiler.frontend.errors import ModelError
from compiler.frontend.model import from_node_proto
from compiler.frontend.tflite.file import Operator
from compiler.frontend.tflite.writer import OPSET, TO_LAST, Writer

Shape = tuple[int, ...]


def ask(w: Writer, asked: Mapping[str, Shape]) -> None:
    """Gives inputs the sizes that are asked for, if they differ from the file's and have as many dimensions."""
    for number in w.graph.inputs:
        tensor = w.tensor(number)
        shape = tuple(asked.get(tensor.name, tensor.shape))
        if shape != tensor.shape and len(shape) == len(tensor.shape):
            w.tensors[number] = replace(tensor, shape=shape)
            w.types = {}
    if w.types is not None:
        w.types |= {w.tensor(number).name: w.info(number) for number in w.graph.inputs}


def foretell(w: Writer, op: Operator) -> None:
    """Sets the sizes of results that the operator reads, or that its translation needs beforehand."""
    if op.kind in _TOLD:
        shapes = _TOLD[op.kind](w, op)
        for number, shape in zip(op.outputs, shapes, strict=True):
            w.tensors[number] = replace(w.tensor(number), shape=shape)


def follow(w: Writer, op: Operator, begin: int) -> None:
    """Sets the sizes of the operator's results, from the nodes from ``begin`` on."""
    assert w.types is not None
    w.types |= _inferred(w, w.nodes[begin:])
    for number in op.outputs:
        tensor = w.tensor(number)
        name, first = w.stored_form(number)
        if name in w.constants:
            shape: Shape | None = w.constants[name].shape
        else:
            dims = w.types[name].type.tensor_type.shape.dim if name in w.types else ()
            known = name in w.types and all(dim.HasField("dim_value") for dim in dims)
            shape = tuple(dim.dim_value for dim in dims) if known else None
        if shape is None or len(shape) != len(tensor.shape):
            raise ModelError(f"{w.where}: tensor {tensor.name}: its sizes do not follow from what is asked; convert with them")
        w.tensors[number] = replace(tensor, shape=tuple(shape[axis] for axis in TO_LAST) if first else shape)


def _inferred(w: Writer, nodes: list[onnx.NodeProto]) -> dict[str, onnx.ValueInfoProto]:
    assert w.types is not None
    made = {name for node in nodes for name in node.output}
    read = dict.fromkeys(name for node in nodes for name in from_node_proto(node).reads() if name not in made)
    graph = helper.make_graph(
        nodes, "part", [w.types[name] for name in read if name in w.types], [onnx.ValueInfoProto(name=name) for name in made],
        [numpy_helper.from_array(w.constants[name], name) for name in read if name in w.constants],
    )  # fmt: skip
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", OPSET)], ir_version=10)
    try:
        found = shape_inference.infer_shapes(model, strict_mode=True, data_prop=True).graph
    except shape_inference.InferenceError as error:
        said = " ".join(str(error).split())[:300]
        raise ModelError(f"{w.where}: the sizes that are asked for do not go together: {said}; ask for others") from None
    return {info.name: info for info in (*found.value_info, *found.output)}


def _known(w: Writer, number: int, what: str) -> list[int]:
    return [int(value) for value in w.known(number, what).reshape(-1)]


def _reshaped(w: Writer, op: Operator) -> list[Shape]:
    """The shape of a RESHAPE. An empty shape, which a file may leave without data, is that of a number."""
    x, y = w.tensor(op.inputs[0]), w.tensor(op.outputs[0])
    told = op.inputs[1] if len(op.inputs) > 1 else -1
    if told >= 0:
        shape = [] if w.tensor(told).shape == (0,) else _known(w, told, "shape")
    else:
        shape = np.asarray(op.option("NewShapeAsNumpy", y.shape)).reshape(-1).tolist()
    count = math.prod(x.shape)
    if -1 in shape:
        rest = math.prod(size for size in shape if size >= 0)
        shape = [count // rest if size < 0 and rest else size for size in shape]
    if math.prod(shape) != count:
        raise ModelError(
            f"{w.where}: tensor {y.name}: has the shape {list(shape)}, and {count} values are put into it by the sizes "
            "that are asked for; ask for others, or convert with these"
        )
    return [tuple(shape)]


def _squeezed(w: Writer, op: Operator) -> list[Shape]:
    shape = w.tensor(op.inputs[0]).shape
    told = np.asarray(op.option("SqueezeDimsAsNumpy", ()))
    gone = {int(axis) % len(shape) for axis in told} if told.ndim else {axis for axis, size in enumerate(shape) if size == 1}
    return [tuple(size for axis, size in enumerate(shape) if axis not in gone)]


def _expanded(w: Writer, op: Operator) -> list[Shape]:
    shape = [*w.tensor(op.inputs[0]).shape]
    shape.insert(_known(w, op.inputs[1], "axis")[0] % (len(shape) + 1), 1)
    return [tuple(shape)]


def _dense(w: Writer, op: Operator) -> list[Shape]:
    shape, (units, width) = w.tensor(op.inputs[0]).shape, w.tensor(op.inputs[1]).shape
    return [(*shape[:-1], units) if op.option("KeepNumDims") else (math.prod(shape) // width, units)]


def _resized(w: Writer, op: Operator) -> list[Shape]:
    shape = w.tensor(op.inputs[0]).shape
    return [(shape[0], *_known(w, op.inputs[1], "sizes"), shape[3])]


def _split(w: Writer, op: Operator) -> list[Shape]:
    number, axis = (op.inputs[1], op.inputs[0]) if op.kind == "SPLIT" else (op.inputs[0], op.inputs[2])
    shape = w.tensor(number).shape
    where, parts = _known(w, axis, "axis")[0] % len(shape), len(op.outputs)
    sizes = [shape[where] // parts] * parts if op.kind == "SPLIT" else _known(w, op.inputs[1], "sizes")
    left = shape[where] - sum(size for size in sizes if size >= 0)
    return [(*shape[:where], left if size < 0 else size, *shape[where + 1 :]) for size in sizes]


_TOLD: dict[str, Callable[[Writer, Operator], list[Shape]]] = {
    "RESHAPE": _reshaped, "SQUEEZE": _squeezed, "EXPAND_DIMS": _expanded, "FULLY_CONNECTED": _dense, "SPLIT": _split,
    "SPLIT_V": _split, "RESIZE_BILINEAR": _resized, "RESIZE_NEAREST_NEIGHBOR": _resized,
    "TRANSPOSE_CONV": lambda w, op: [tuple(_known(w, op.inputs[0], "shape"))],
}  # fmt: skip
