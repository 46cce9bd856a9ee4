"""The type of every tensor, as onnxruntime infers it (it knows its own operators too)."""

from __future__ import annotations

from dataclasses import replace

import onnx
from onnx import helper

from compiler.frontend.edge_windows import with_pads_in_numbers
from compiler.frontend.errors import ModelError
from compiler.frontend.model import Model, TensorType, part_proto
from compiler.frontend.session import session

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
    """The model with all types. Windows at the edge get pads in numbers where onnxruntime infers another size than it makes;
    what follows them then has other sizes, too."""
    while True:
        typed = _inferred(model)
        changed = with_pads_in_numbers(typed)
        if changed is typed:
            return typed
        model = replace(model, nodes=changed.nodes)


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
