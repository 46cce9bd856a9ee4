"""Tensors whose bytes lie in files beside the model."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from itertools import chain
from math import prod
from pathlib import Path

import onnx
from onnx.external_data_helper import ExternalDataInfo, load_external_data_for_tensor, uses_external_data

from compiler.frontend.errors import ModelError

_NUMBER = re.compile("[0-9]{1,18}")
_REMEDY = "keep the file that came with the model beside it, or export the model again"

_NARROW_BITS: dict[int, int] = {onnx.TensorProto.INT4: 4, onnx.TensorProto.UINT4: 4, onnx.TensorProto.FLOAT4E2M1: 4}
"""The bits of types of which two numbers share a byte."""


def with_external_data(proto: onnx.ModelProto, folder: Path | None) -> onnx.ModelProto:
    """The model with all of its bytes. ``folder`` is that of the model's file; ``None`` if there is no file."""
    functions = (tensor for function in proto.functions for tensor in _tensors_of_nodes(function.node))
    for tensor in chain(_tensors(proto.graph), functions):
        if uses_external_data(tensor):
            _load(tensor, folder)
    return proto


def _load(tensor: onnx.TensorProto, folder: Path | None) -> None:
    _check_entries(tensor)
    info = ExternalDataInfo(tensor)
    if folder is None:
        raise ModelError(
            f"tensor {tensor.name}: its bytes lie in the file {info.location}, beside a model that was not given as a file; "
            "give the model's path, or load it with its external data"
        )
    path = folder / info.location
    size = _bytes(tensor)
    needed = (info.offset or 0) + (info.length or size)
    try:
        found = path.stat().st_size
    except OSError as error:
        raise ModelError(f"tensor {tensor.name}: its file {path} cannot be read: {error.strerror}; {_REMEDY}") from None
    if found < needed:
        raise ModelError(f"tensor {tensor.name}: its file {path} has {found} bytes, {needed} are expected; {_REMEDY}")
    if info.length and info.length < size:
        raise ModelError(f"tensor {tensor.name}: {info.length} bytes of {path} are its own, {size} are expected; {_REMEDY}")
    try:
        load_external_data_for_tensor(tensor, str(folder))
    except Exception as error:  # onnx refuses files outside of the model's folder, links, and files that it cannot read.
        text = " ".join(str(error).split())[:200]
        raise ModelError(f"tensor {tensor.name}: its file {path} cannot be read: {text}; {_REMEDY}") from None
    tensor.data_location = onnx.TensorProto.DEFAULT
    del tensor.external_data[:]


def _check_entries(tensor: onnx.TensorProto) -> None:
    for entry in tensor.external_data:
        if entry.key in ("offset", "length") and not _NUMBER.fullmatch(entry.value):
            found = f"{entry.key} {entry.value[:40]!r}"
            raise ModelError(f"tensor {tensor.name}: {found} of its external data, a number of bytes is expected; {_REMEDY}")
        if entry.key == "location" and "\0" in entry.value:
            raise ModelError(f"tensor {tensor.name}: {entry.value[:40]!r} is no name of a file; {_REMEDY}")


def _bytes(tensor: onnx.TensorProto) -> int:
    whole = 8 * int(onnx.helper.tensor_dtype_to_np_dtype(tensor.data_type).itemsize)
    elements: int = prod(tensor.dims)
    return -(-elements * _NARROW_BITS.get(tensor.data_type, whole) // 8)


def _tensors(graph: onnx.GraphProto) -> Iterator[onnx.TensorProto]:
    """The constants of a graph and of its nodes."""
    yield from graph.initializer
    for sparse in graph.sparse_initializer:
        yield sparse.values
        yield sparse.indices
    yield from _tensors_of_nodes(graph.node)


def _tensors_of_nodes(nodes: Iterable[onnx.NodeProto]) -> Iterator[onnx.TensorProto]:
    """The tensors in attributes of nodes, also of nodes in inner graphs."""
    for node in nodes:
        for attribute in node.attribute:
            if attribute.HasField("t"):
                yield attribute.t
            yield from attribute.tensors
            for inner in (*([attribute.g] if attribute.HasField("g") else []), *attribute.graphs):
                yield from _tensors(inner)
