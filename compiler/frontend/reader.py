"""Reads an ONNX or TFLite file into a checked, normalised model, with known types, folded constants and no renaming nodes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import numpy as np
import onnx
from google.protobuf.message import Message
from onnx import inliner, numpy_helper, version_converter

from compiler.definitions.by_name import is_definition
from compiler.frontend.checks import check_constants, check_operators, check_shapes, check_windows, ordered
from compiler.frontend.errors import ModelError
from compiler.frontend.external import with_external_data
from compiler.frontend.folding import fold_constants, with_constant_outputs, without_identities
from compiler.frontend.idle_nodes import without_idle_nodes
from compiler.frontend.loading import loads
from compiler.frontend.model import Array, Model, Node, TensorType, from_node_proto, to_proto
from compiler.frontend.rebatch import rebatched
from compiler.frontend.session import RuntimeRefusal
from compiler.frontend.structure import MOST_NODES, check_budget, check_structure
from compiler.frontend.tflite.convert import from_tflite
from compiler.frontend.tflite.file import is_tflite
from compiler.frontend.types import check_end, with_types
from isa.errors import printable

LEAST_OPSET = 9
MOST_OPSET = 26
"""The newest operator set that onnxruntime runs."""
USUAL_OPSET = 21
"""The operator set of a model that names none, because it has no node of ONNX's own."""

Source = str | Path | bytes | onnx.ModelProto


def read(
    source: Source, *, batch: int | None = None, shapes: Mapping[str, tuple[int, ...]] | None = None, nodes: int | None = None,
    samples: Mapping[str, tuple[int, ...]] | None = None,
) -> Model:  # fmt: skip
    """Reads a model.

    ``batch`` replaces the first dimension of every input; without it, a free one becomes 1. ``shapes`` are whole shapes of
    inputs. ``nodes`` is the greatest number of nodes that the model may have. ``samples`` are shapes of many inputs together,
    whose sizes free dimensions get.
    """
    shapes = shapes or {}
    proto = load(source, shapes)
    if found := _sizes_of_samples(proto, shapes, samples or {}, batch or 1):
        shapes = {**shapes, **found}
        proto = load(source, shapes)
    check_budget(proto, nodes or MOST_NODES)
    model = from_proto(converted(proto))
    model = replace(model, types={**model.types, **_input_types(model, proto, batch, shapes)})
    # The protocol buffer holds the weights a second time.
    del proto
    model = without_identities(model)
    model = fold_constants(model)
    check_constants(model)
    model = with_constant_outputs(_loosely_resolved(model))
    check_shapes(model)
    if batch and any((model.shape(name) or (batch,))[0] != batch for name in model.inputs if name not in shapes):
        return rebatched(model, batch)
    return model


def load(source: Source, shapes: Mapping[str, tuple[int, ...]] | None = None) -> onnx.ModelProto:
    """The protocol buffer of a file, of bytes, or the given one. ``shapes`` are those that a TFLite file is to have."""
    if isinstance(source, onnx.ModelProto):
        check_structure(source, "the model")
        return with_external_data(source, None)
    where = "the model" if isinstance(source, bytes) else str(source)
    try:
        data = source if isinstance(source, bytes) else Path(source).read_bytes()
    except OSError as error:
        raise ModelError(f"{where}: cannot be read: {error.strerror}; give the path of an ONNX or TFLite file") from None
    if is_tflite(data):
        return from_tflite(data, where, shapes)
    try:
        proto: onnx.ModelProto = onnx.load_model_from_string(data)
    except Exception:  # protobuf's DecodeError, which it does not export with types
        raise ModelError(f"{where}: {len(data)} bytes are not a whole ONNX model; export or download it again") from None
    check_text(proto, where)
    if not proto.graph.node and not proto.opset_import:
        raise ModelError(f"{where}: not an ONNX model (no graph and no operator set in it); give a .onnx or .tflite file")
    check_structure(proto, where)
    return with_external_data(proto, None if isinstance(source, bytes) else Path(source).parent)


def check_text(message: Message, where: str) -> None:
    """Refuses names that are not text; protobuf returns the bytes of a name that is not UTF-8."""
    for field, value in message.ListFields():
        if field.type == field.TYPE_MESSAGE:
            for part in value if isinstance(value, Sequence) else (value,):
                check_text(part, where)
        elif field.type == field.TYPE_STRING:
            for text in (value,) if isinstance(value, str | bytes) else value:
                if isinstance(text, bytes):
                    raise ModelError(f"{where}: {field.full_name} {text!r} is not UTF-8 text; export or download it again")


def opset_of(proto: onnx.ModelProto) -> int:
    return next((o.version for o in proto.opset_import if o.domain in ("", "ai.onnx")), 0)


def converted(proto: onnx.ModelProto) -> onnx.ModelProto:
    """The model with functions inlined, in a supported operator set if onnx can convert it.

    Calls of the compiler's own definitions stay.
    """
    ours = [(function.domain, function.name) for function in proto.functions if is_definition(function)]
    if len(ours) < len(proto.functions):
        proto = inliner.inline_selected_functions(proto, ours, exclude=True)
    version = opset_of(proto)
    if version == 0 and proto.opset_import and not any(node.domain in ("", "ai.onnx") for node in proto.graph.node):
        proto = onnx.ModelProto.FromString(proto.SerializeToString())
        proto.opset_import.append(onnx.helper.make_opsetid("", USUAL_OPSET))
        return proto
    if LEAST_OPSET <= version <= MOST_OPSET:
        return proto
    refusal = (
        f"model {proto.graph.name}: operator set {version}, {LEAST_OPSET} to {MOST_OPSET} is expected, "
        "and onnx cannot convert it; export the model with one of these"
    )
    if version < 1:
        raise ModelError(refusal)
    try:
        return version_converter.convert_version(proto, min(max(version, LEAST_OPSET), MOST_OPSET))
    except Exception:  # the converter raises whatever its C++ side threw
        raise ModelError(refusal) from None


def from_proto(proto: onnx.ModelProto) -> Model:
    graph = proto.graph
    constants: dict[str, Array] = {t.name: numpy_helper.to_array(t) for t in graph.initializer}
    constants |= {t.values.name: _dense(t) for t in graph.sparse_initializer}
    nodes: list[Node] = []
    taken: set[str] = set()
    for index, item in enumerate(graph.node):
        name = printable(item.name or f"{item.op_type}_{index}")
        while name in taken:
            name += "_"
        taken.add(name)
        nodes.append(from_node_proto(item, name))
    inputs = tuple(v.name for v in graph.input if v.name not in constants)
    opsets = {"" if o.domain == "ai.onnx" else o.domain: o.version for o in proto.opset_import}
    check_operators(nodes, opsets)
    check_windows(nodes)
    model = Model(
        graph.name, ordered(nodes, {*inputs, *constants, ""}), constants, {}, inputs,
        tuple(v.name for v in graph.output), opsets,
    )  # fmt: skip
    return model


def _sizes_of_samples(
    proto: onnx.ModelProto, shapes: Mapping[str, tuple[int, ...]], samples: Mapping[str, tuple[int, ...]], batch: int
) -> dict[str, tuple[int, ...]]:
    """The shapes of inputs with free dimensions behind the first, taken from samples, except where ``shapes`` has them.

    The first dimension counts samples, and is not taken from them.
    """
    found = {}
    for info in proto.graph.input:
        sizes = [dim.dim_value if dim.HasField("dim_value") else -1 for dim in info.type.tensor_type.shape.dim]
        sample = samples.get(info.name, ())
        if info.name not in shapes and min(sizes[1:], default=0) < 0 and len(sample) == len(sizes):
            first = sizes[0] if sizes[0] > 0 else batch
            found[info.name] = (first, *(free if size < 0 else size for size, free in zip(sizes[1:], sample[1:], strict=True)))
    return found


def _dense(sparse: onnx.SparseTensorProto) -> Array:
    """A sparse constant with its zeros. Places count through the whole tensor, or are one index for each dimension."""
    values, places = numpy_helper.to_array(sparse.values), numpy_helper.to_array(sparse.indices)
    out = np.zeros(tuple(sparse.dims), values.dtype)
    where = np.unravel_index(places, out.shape) if places.ndim == 1 else tuple(places.T)
    out[where] = values
    return out


def _input_types(
    model: Model, proto: onnx.ModelProto, batch: int | None, shapes: Mapping[str, tuple[int, ...]]
) -> dict[str, TensorType]:
    """The types of all inputs, with whole shapes."""
    unknown = [name for name in shapes if name not in model.inputs]
    if unknown:
        raise ModelError(f"input {unknown[0]}: the model has no such input; it has {', '.join(model.inputs)}")
    types = {}
    for info in proto.graph.input:
        if info.name not in model.inputs:
            continue
        tensor = info.type.tensor_type
        kind = info.type.WhichOneof("value") or "tensor_type"
        if kind != "tensor_type":
            found = kind.removesuffix("_type")
            raise ModelError(f"input {info.name}: is a {found}, a tensor is expected; export the model with tensors alone")
        check_end("input", info.name, tensor.elem_type)
        if info.name in shapes:
            asked = tuple(shapes[info.name])
            if tensor.HasField("shape") and len(asked) != len(tensor.shape.dim):
                raise ModelError(
                    f"input {info.name}: shape {list(asked)} has {len(asked)} dimensions, {len(tensor.shape.dim)} are expected "
                    "by the model; give as many"
                )
            types[info.name] = TensorType(tensor.elem_type, asked)
            continue
        if not tensor.HasField("shape"):
            raise ModelError(f"input {info.name}: has no shape; export the model with input shapes, or name them")
        shape = []
        for axis, dim in enumerate(tensor.shape.dim):
            if dim.HasField("dim_value") and dim.dim_value >= 0:
                shape.append(dim.dim_value)
            elif axis == 0:
                shape.append(batch or 1)
            else:
                raise ModelError(
                    f"input {info.name}: dimension {axis} is free ({dim.dim_param or 'unnamed'}), a number is expected; "
                    "export the model with a fixed size, or give --shape"
                )
        if 0 in shape:
            raise ModelError(
                f"input {info.name}: shape {shape} holds nothing, sizes of at least 1 are expected; "
                "export the model with the size of its data, or with a name where the size is free"
            )
        types[info.name] = TensorType(tensor.elem_type, tuple(shape))
    return types


def _loosely_resolved(model: Model) -> Model:
    """The model with its types. If a branch is for other sizes than the inputs have, onnxruntime is not told their shapes."""
    captured = {name for node in model.nodes for name in node.captures()}
    if not captured:
        return _resolved(model)
    for loose in (set[str](), captured & {*model.inputs}, {*model.inputs}):
        with suppress(RuntimeRefusal):
            found = _resolved(replace(model, loose=frozenset(loose)))
            if loads(to_proto(found).SerializeToString()):
                return found
    return _resolved(model)


def _resolved(model: Model) -> Model:
    """The model with types inferred and shape arithmetic folded, until neither finds more."""
    while True:
        typed = with_types(model)
        folded = without_idle_nodes(fold_constants(typed))
        if len(folded.nodes) == len(typed.nodes):
            return typed
        model = folded
