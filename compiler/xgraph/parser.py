"""The text of a graph, read back; it is never executed."""

from __future__ import annotations

import ast
import enum
from collections.abc import Mapping
from typing import Any

from compiler.xgraph import ops
from compiler.xgraph.graph import GraphError, XGraph
from compiler.xgraph.printer import Constant, Printed
from compiler.xgraph.tensor import Quantisation, Tensor

OPERATIONS = {
    kind.__name__: kind
    for kind in (
        ops.Conv, ops.ConvTranspose, ops.Pool, ops.Eltwise, ops.Upsample, ops.Concat, ops.Slice,
        ops.Interleave, ops.Reshape, ops.Cpu,
    )
}  # fmt: skip
PARTS: dict[str, Any] = {
    kind.__name__: kind for kind in (ops.Window, ops.Finish, ops.Requantisation, ops.Port, Quantisation, Tensor)
}
ENUMS: dict[str, type[enum.Enum]] = {kind.__name__: kind for kind in (ops.PoolKind, ops.EltwiseKind)}


def parse_graph(printed: Printed) -> XGraph:
    head: dict[str, Any] | None = None
    tensors: dict[str, Tensor] = {}
    operations: list[ops.Op] = []
    for number, line in enumerate(printed.text.splitlines(), start=1):
        if not line.strip():
            continue
        try:
            value = _Reader(printed.constants).value(ast.parse(line.strip(), mode="eval").body)
        except (SyntaxError, TypeError, ValueError, KeyError) as error:
            raise GraphError(f"graph text, line {number}: {line.strip()[:60]!r} cannot be read: {error}") from None
        match value:
            case Tensor():
                tensors[value.name] = value
            case ops.Op():
                operations.append(value)
            case dict():
                head = value
            case _:
                raise GraphError(f"graph text, line {number}: a graph, a tensor or an operation is expected")
    if head is None:
        raise GraphError("graph text: no line graph(...) names the inputs and outputs")
    return XGraph(head["name"], tensors, tuple(operations), head["inputs"], head["outputs"])


class _Reader:
    def __init__(self, constants: Mapping[str, Constant]) -> None:
        self.constants = constants

    def value(self, node: ast.expr) -> Any:
        match node:
            case ast.Call(func=ast.Name(id=name), args=args, keywords=keywords):
                fields = {k.arg: self.value(k.value) for k in keywords if k.arg}
                return self._made(name, [self.value(a) for a in args], fields)
            case ast.Attribute(value=ast.Name(id=kind), attr=member) if kind in ENUMS:
                return ENUMS[kind][member]
            case ast.Tuple(elts=elements):
                return tuple(self.value(e) for e in elements)
            case ast.Dict(keys=keys, values=values):
                return {self.value(k): self.value(v) for k, v in zip(keys, values, strict=True) if k is not None}
        return ast.literal_eval(node)

    def _made(self, name: str, args: list[Any], fields: dict[str, Any]) -> Any:
        if name == "graph":
            return {"name": args[0], **fields}
        if name == "constant":
            return self.constants[args[1]]
        kind = OPERATIONS.get(name) or PARTS.get(name)
        if kind is None:
            raise ValueError(f"unknown operation {name}")
        return kind(**fields)
