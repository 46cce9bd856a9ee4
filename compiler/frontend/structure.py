"""What ONNX asks of a model before anything in it is looked at: a version of its format, sizes of constants, single names."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import onnx

from compiler.frontend.errors import ModelError

_FREE = -1
"""A dimension whose size is not known: what some exporters write, and onnxruntime takes."""


def check_structure(proto: onnx.ModelProto, where: str) -> None:
    """Refuses what onnx's checker refuses, and we would take for something else."""
    if proto.ir_version < 1:
        raise ModelError(f"{where}: ir_version {proto.ir_version or 'is missing'}, 1 or more is expected; export it again")
    for graph in _graphs(proto):
        names = [t.name for t in graph.initializer] + [t.values.name for t in graph.sparse_initializer]
        _check_single("constant", names, where)
        _check_single("input", (value.name for value in graph.input), where)
        _check_single("output", (value.name for value in graph.output), where)
        for tensor in graph.initializer:
            _check_sizes(f"constant {tensor.name!r}", tensor.dims, 0, where)
        for sparse in graph.sparse_initializer:
            _check_sizes(f"constant {sparse.values.name!r}", sparse.dims, 0, where)
        for value in graph.input:
            _check_sizes(f"input {value.name!r}", (d.dim_value for d in value.type.tensor_type.shape.dim), _FREE, where)


def _check_single(kind: str, names: Iterable[str], where: str) -> None:
    seen: set[str] = set()
    for name in names:
        if name in seen:
            raise ModelError(f"{where}: {kind} {name!r} is given twice, and one of a name is expected; export it again")
        seen.add(name)


def _check_sizes(what: str, sizes: Iterable[int], least: int, where: str) -> None:
    for size in sizes:
        if size < least:
            raise ModelError(f"{where}: {what} has a dimension of {size}, a size is expected; export the model again")


def _graphs(proto: onnx.ModelProto) -> Iterator[onnx.GraphProto]:
    """The graph, and those within nodes."""
    pending = [proto.graph]
    nodes = [node for function in proto.functions for node in function.node]
    while pending or nodes:
        if pending:
            graph = pending.pop()
            yield graph
            nodes += graph.node
        while nodes:
            for attribute in nodes.pop().attribute:
                pending += [attribute.g] if attribute.HasField("g") else []
                pending += attribute.graphs
