"""A graph as text, one line for each tensor and operation; constants are named by the digest of their bytes."""

from __future__ import annotations

import dataclasses
import enum
import hashlib
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from compiler.xgraph.graph import XGraph

Constant = NDArray[Any] | bytes


@dataclasses.dataclass(frozen=True)
class Printed:
    """The text, and the constants that it names."""

    text: str
    constants: Mapping[str, Constant]


def print_graph(graph: XGraph) -> Printed:
    constants: dict[str, Constant] = {}
    return Printed("\n".join(_lines(graph, constants)) + "\n", constants)


def _lines(graph: XGraph, constants: dict[str, Constant]) -> Iterator[str]:
    yield f"graph({graph.name!r}, inputs={graph.inputs!r}, outputs={graph.outputs!r})"
    for tensor in graph.tensors.values():
        yield form(tensor, constants)
    for op in graph.ops:
        yield form(op, constants)


def form(value: Any, constants: dict[str, Constant]) -> str:
    """A value in Python syntax; dataclasses are calls without the fields that have their default value."""
    match value:
        case np.ndarray() | bytes():
            return _constant(value, constants)
        case enum.Enum():
            return f"{type(value).__name__}.{value.name}"
        case tuple():
            inner = [form(v, constants) for v in value]
            return f"({', '.join(inner)}{',' if len(inner) == 1 else ''})"
        case dict():
            return "{" + ", ".join(f"{form(k, constants)}: {form(v, constants)}" for k, v in value.items()) + "}"
    if not dataclasses.is_dataclass(value):
        return repr(value)
    parts = []
    for field in dataclasses.fields(value):
        inner = getattr(value, field.name)
        default = field.default_factory() if field.default_factory is not dataclasses.MISSING else field.default
        if isinstance(inner, np.ndarray) or (inner is not default and inner != default):
            parts.append(f"{field.name}={form(inner, constants)}")
    return f"{type(value).__name__}({', '.join(parts)})"


def described(value: Constant) -> str:
    """The type and size of a constant, as a text has them."""
    return f"bytes {len(value)}" if isinstance(value, bytes) else f"{value.dtype} {'x'.join(map(str, value.shape))}"


def _constant(value: Constant, constants: dict[str, Constant]) -> str:
    kind, data = described(value), value if isinstance(value, bytes) else np.ascontiguousarray(value).tobytes()
    digest = hashlib.sha256(kind.encode() + data).hexdigest()[:16]
    constants[digest] = value
    return f"constant({kind!r}, {digest!r})"
