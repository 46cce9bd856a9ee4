"""Checks what ONNX asks of a model before anything in it is read: the format's version, sizes of constants, unique names."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import onnx

from compiler.frontend.errors import ModelError

MOST_NODES = 50_000
"""The most nodes of a model, unless more are allowed; the largest networks of the zoo have some thousands."""
HEADS = ("num_heads", "q_num_heads", "kv_num_heads")
"""Attributes that divide features among the heads of attention."""
_FREE = -1
"""The size of a dimension that is not known, as some exporters write it and onnxruntime takes it."""


def check_structure(proto: onnx.ModelProto, where: str) -> None:
    """Refuses what onnx's checker refuses and the reader would misunderstand, and numbers that onnxruntime divides by."""
    if proto.ir_version < 1:
        found = proto.ir_version or "is missing"
        raise ModelError(f"{where}: ir_version {found}, at least 1 is expected; export the model again")
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
        for node in graph.node:
            _check_heads(node, where)


def check_budget(proto: onnx.ModelProto, budget: int = MOST_NODES) -> None:
    """Refuses a model of too many nodes. Nodes of functions count for each call: functions within functions are few bytes."""
    sizes: dict[tuple[str, str], int] = {}
    functions = {(function.domain, function.name): function for function in proto.functions}
    pending = [*functions]
    opened: set[tuple[str, str]] = set()
    while pending:
        key = pending[-1]
        nodes = functions[key].node
        inner = [found for node in _all(nodes) if (found := (node.domain, node.op_type)) in functions and found not in sizes]
        if key in sizes or not inner:
            sizes.setdefault(key, sum(sizes.get((node.domain, node.op_type), 1) for node in _all(nodes)))
            pending.pop()
            continue
        if key in opened:
            raise ModelError(
                f"model {proto.graph.name}: function {key[1]!r} calls itself, none may; export the model again"
            )
        opened.add(key)
        pending += inner
    count = sum(sizes.get((node.domain, node.op_type), 1) for node in _all(proto.graph.node))
    if count > budget:
        shown = count if count < 10**12 else "more than a million million"
        raise ModelError(
            f"model {proto.graph.name}: {shown} nodes, at most {budget} are expected; --nodes allows more, which take "
            "time and memory in proportion"
        )


def _all(nodes: Iterable[onnx.NodeProto]) -> Iterator[onnx.NodeProto]:
    """The nodes, and those of the graphs within them."""
    pending = list(nodes)
    while pending:
        node = pending.pop()
        yield node
        for attribute in node.attribute:
            for graph in (*([attribute.g] if attribute.HasField("g") else []), *attribute.graphs):
                pending += graph.node


def _check_single(kind: str, names: Iterable[str], where: str) -> None:
    seen: set[str] = set()
    for name in names:
        if name in seen:
            raise ModelError(f"{where}: {kind} {name!r} is given twice, one of each name is expected; export the model again")
        seen.add(name)


def _check_sizes(what: str, sizes: Iterable[int], least: int, where: str) -> None:
    for size in sizes:
        if size < least:
            raise ModelError(f"{where}: {what} has a dimension of {size}, a size is expected; export the model again")


def _check_heads(node: onnx.NodeProto, where: str) -> None:
    for attribute in node.attribute:
        if attribute.name in HEADS and attribute.i < 1:
            raise ModelError(
                f"{where}: node {node.name or node.output[0]}: {attribute.name} {attribute.i} of {node.op_type}, at least 1 is "
                "expected; export the model again"
            )


def _graphs(proto: onnx.ModelProto) -> Iterator[onnx.GraphProto]:
    """The graph, and the graphs within its nodes."""
    yield proto.graph
    for node in _all([*proto.graph.node, *(node for function in proto.functions for node in function.node)]):
        for attribute in node.attribute:
            yield from (*([attribute.g] if attribute.HasField("g") else []), *attribute.graphs)
