"""The type of every tensor, as onnxruntime infers it (it knows its own operators too)."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import onnx
from onnx import helper

from compiler.frontend.errors import ModelError
from compiler.frontend.model import Model, Node, TensorType, part_proto
from compiler.frontend.session import run, session

_SMALL = 256
"""Constants of more elements cannot be shapes: they are declared, not handed over, which saves their bytes."""

_ELEMS = {
    "tensor(float)": onnx.TensorProto.FLOAT, "tensor(uint8)": onnx.TensorProto.UINT8, "tensor(int8)": onnx.TensorProto.INT8,
    "tensor(uint16)": onnx.TensorProto.UINT16, "tensor(int16)": onnx.TensorProto.INT16,
    "tensor(int32)": onnx.TensorProto.INT32, "tensor(int64)": onnx.TensorProto.INT64,
    "tensor(bool)": onnx.TensorProto.BOOL, "tensor(float16)": onnx.TensorProto.FLOAT16,
    "tensor(double)": onnx.TensorProto.DOUBLE, "tensor(uint32)": onnx.TensorProto.UINT32,
    "tensor(uint64)": onnx.TensorProto.UINT64, "tensor(string)": onnx.TensorProto.STRING,
    "tensor(bfloat16)": onnx.TensorProto.BFLOAT16,
}  # fmt: skip

_NOT_IN_NUMPY = {onnx.TensorProto.UNDEFINED, onnx.TensorProto.STRING, onnx.TensorProto.BFLOAT16}


def check_end(kind: str, name: str, elem: int) -> None:
    """Inputs and outputs are arrays of the host."""
    if elem not in _ELEMS.values() or elem in _NOT_IN_NUMPY:
        found = "strings" if elem == onnx.TensorProto.STRING else onnx.TensorProto.DataType.Name(elem).lower()
        raise ModelError(
            f"{kind} {name}: holds {found}, numbers of a type that numpy has are expected; export the model with such an {kind}"
        )


def _named(text: str) -> int:
    """The type that onnxruntime calls ``tensor(float8e4m3fn)`` and the like."""
    found: int = onnx.TensorProto.DataType.Value(text.removeprefix("tensor(").removesuffix(")").upper())
    return found


def with_types(model: Model) -> Model:
    while True:
        typed = _inferred(model)
        plain = {node.name: _in_numbers(typed, node) for node in model.nodes if _reaches_over(node)}
        changed = next((name for name, node in plain.items() if node is not None), None)
        if changed is None:
            return typed
        # What follows it has other sizes, too.
        model = replace(model, nodes=tuple(plain[changed] or node if node.name == changed else node for node in model.nodes))


def _reaches_over(node: Node) -> bool:
    """Whether onnxruntime may infer more than it makes: a last window of ``ceil_mode`` that begins behind the map, or padding
    of an output that ``auto_pad`` takes away again."""
    return bool(node.integer("ceil_mode", 0)) or any(node.integers("output_padding", ()))


def _in_numbers(model: Model, node: Node) -> Node | None:
    """The node with pads that give the size that onnxruntime makes of zeros; None, if it is the one that it infers."""
    read = {name: model.types[name] for name in node.reads() if name not in model.constants}
    inferred = model.shape(node.output)
    if inferred is None or any(known.shape is None for known in read.values()):
        return None
    types = {**model.types, node.output: TensorType(model.elem(node.output), None)}
    part = part_proto(replace(model, types=types), [node], [*read], [node.output])
    zeros = {n: np.zeros(t.shape or (), helper.tensor_dtype_to_np_dtype(t.elem)) for n, t in read.items()}
    made = run(part, zeros)[node.output].shape
    if made == inferred:
        return None
    size, out = (model.shape(node.inputs[0]) or ())[2:], made[2:]
    rank = len(size)
    transposed = node.op_type == "ConvTranspose"
    kernel = (model.shape(node.inputs[1]) or ())[2:] if transposed else node.integers("kernel_shape", ())
    strides, dilations = node.integers("strides", [1] * rank), node.integers("dilations", [1] * rank)
    extra, given = node.integers("output_padding", [0] * rank), node.integers("pads", [0] * 2 * rank)
    first, last = [], []
    for i, reach in enumerate((k - 1) * d + 1 for k, d in zip(kernel, dilations, strict=True)):
        if transposed:
            total = max(0, strides[i] * (size[i] - 1) + extra[i] + reach - out[i])
            first.append(total // 2 if node.text("auto_pad", "") == "SAME_UPPER" else total - total // 2)
            last.append(total - first[i])
        else:
            first.append(given[i])
            last.append(max(given[i + rank], strides[i] * (out[i] - 1) + reach - size[i] - first[i]))
            counted = node.integer("count_include_pad", 0) and any(given)
            if last[i] > given[i + rank] and (counted or last[i] >= kernel[i]):
                raise ModelError(
                    f"node {node.name}: ceil_mode adds a window on one side and none on the other, whose padding cannot be "
                    "given in numbers; export the model with ceil_mode 0"
                )
    spelt = {"auto_pad", "ceil_mode", *(() if any(given) else ("count_include_pad",))}
    attributes = {name: value for name, value in node.attributes.items() if name not in spelt}
    return replace(node, attributes={**attributes, "pads": [*first, *last]})


def _inferred(model: Model) -> Model:
    made = [name for node in model.nodes for name in node.outputs if name]
    large = [name for name, value in model.constants.items() if value.size > _SMALL]
    declared = {
        name: TensorType(helper.np_dtype_to_tensor_dtype(model.constants[name].dtype), model.constants[name].shape)
        for name in large
    }
    small = {k: v for k, v in model.constants.items() if k not in declared}
    bare = replace(model, constants=small, types={**{i: model.types[i] for i in model.inputs}, **declared})
    proto = part_proto(bare, model.nodes, [*model.inputs, *large], made)
    types = {name: model.types[name] for name in model.inputs}
    for output in session(proto).get_outputs():
        if output.name in model.outputs and not output.type.startswith("tensor("):
            raise ModelError(
                f"output {output.name}: is {output.type}, a tensor is expected; end the model before the node that makes it"
            )
        elem = _ELEMS.get(output.type, onnx.TensorProto.UNDEFINED)
        if output.name in model.outputs:
            check_end("output", output.name, elem or _named(output.type))
        # [] is what onnxruntime says of a number as well as of a tensor whose rank it cannot tell.
        known = output.shape and all(isinstance(d, int) for d in output.shape)
        types[output.name] = TensorType(elem, tuple(output.shape) if known else None)
    return replace(model, types=types)
