"""Reads the text of a graph back; the text is never executed."""

from __future__ import annotations

import ast
import enum
from collections.abc import Mapping
from typing import Any

import numpy as np

from compiler.xgraph import long_conv, ops, products, row_operations
from compiler.xgraph.fields import made, parts_of
from compiler.xgraph.graph import GraphError, XGraph
from compiler.xgraph.printer import Constant, Printed, described
from compiler.xgraph.tensor import Tensor
from isa.errors import TilewrightError

OPERATIONS: dict[str, type[ops.Op]] = {
    kind.__name__: kind
    for kind in (
        ops.Conv, ops.ConvTranspose, ops.Pool, ops.Eltwise, ops.Upsample, ops.Concat, ops.Slice,
        ops.Interleave, ops.Reshape, ops.Constant, ops.Cpu, row_operations.Softmax,
        row_operations.Normalisation, products.Product, long_conv.LongConv,
    )
}  # fmt: skip
"""The kinds of operations, by the name that a line begins with; the types of their fields tell how these are read."""
HEAD = {"inputs": tuple, "outputs": tuple}


def parse_graph(printed: Printed, where: str = "graph text", constants: str = "the constants") -> XGraph:
    """The graph of a text. Errors call the text ``where``, and the holder of its constants ``constants``."""
    head: dict[str, Any] | None = None
    tensors: dict[str, Tensor] = {}
    operations: list[ops.Op] = []
    reader = _Reader(printed.constants, constants)
    for number, line in enumerate(printed.text.splitlines(), start=1):
        if not line.strip():
            continue
        try:
            value = reader.value(ast.parse(line.strip(), mode="eval").body)
        except (SyntaxError, TypeError, ValueError, KeyError, RecursionError, MemoryError) as error:
            said = error.msg if isinstance(error, SyntaxError) else error
            raise GraphError(
                f"{where}, line {number}: {line.strip()[:60]!r} cannot be read: {said}; expected what print_graph writes, "
                "a line for each tensor and operation"
            ) from None
        match value:
            case Tensor():
                tensors[value.name] = value
            case ops.Op():
                operations.append(value)
            case dict() if value.keys() == {"name", *HEAD}:
                head = value
            case _:
                raise GraphError(f"{where}, line {number}: a graph, a tensor or an operation is expected")
    if head is None:
        raise GraphError(f"{where}: no line graph(...) names the inputs and outputs; it is the first that print_graph writes")
    try:
        return XGraph(head["name"], tensors, tuple(operations), head["inputs"], head["outputs"])
    except TilewrightError as error:
        raise GraphError(f"{where}: {error}; a line for it is missing, or they are not in order") from None


class _Reader:
    def __init__(self, constants: Mapping[str, Constant], origin: str) -> None:
        self.constants, self.origin = constants, origin
        known: list[type] = [Tensor, *OPERATIONS.values()]
        kinds = dict.fromkeys(part for kind in known for part in parts_of(kind))
        self.enums: dict[str, type[enum.Enum]] = {kind.__name__: kind for kind in kinds if issubclass(kind, enum.Enum)}
        self.parts = {kind.__name__: kind for kind in kinds if kind.__name__ not in self.enums} | OPERATIONS

    def value(self, node: ast.expr) -> Any:
        match node:
            case ast.Call(func=ast.Name(id=name), args=args, keywords=keywords):
                fields = {k.arg: self.value(k.value) for k in keywords if k.arg}
                return self._made(name, [self.value(a) for a in args], fields)
            case ast.Attribute(value=ast.Name(id=kind), attr=member) if kind in self.enums:
                if member not in self.enums[kind].__members__:
                    raise ValueError(f"unknown {kind}.{member}; known are {', '.join(self.enums[kind].__members__)}")
                return self.enums[kind][member]
            case ast.Tuple(elts=elements):
                return tuple(self.value(e) for e in elements)
            case ast.Dict(keys=keys, values=values):
                return {self.value(k): self.value(v) for k, v in zip(keys, values, strict=True) if k is not None}
        return ast.literal_eval(node)

    def _made(self, name: str, args: list[Any], fields: dict[str, Any]) -> Any:
        match name, args:
            case "graph", [str(graph)]:
                return {"name": graph, **fields}
            case "constant", [str(kind), str(digest)]:
                return self._constant(kind, digest)
        if name not in self.parts and name not in ("graph", "constant"):
            raise ValueError(f"unknown operation {name}; known are {', '.join(OPERATIONS)}")
        if args or name not in self.parts:
            raise ValueError(f"arguments of {name} are not what print_graph writes")
        return made(self.parts[name], fields)

    def _constant(self, kind: str, digest: str) -> Constant:
        value = self.constants.get(digest)
        if value is None:
            raise ValueError(f"constant {digest} is not in {self.origin}; keep both as they were written together")
        if isinstance(value, np.ndarray) and kind.startswith("bytes "):
            value = value.tobytes()
        if described(value) != kind:
            raise ValueError(f"constant {digest} is {described(value)} in {self.origin}, expected {kind}")
        return value
