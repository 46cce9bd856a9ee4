"""All functions of the domain ``tilewright``, by name."""

from __future__ import annotations

from collections.abc import Callable

import onnx

from compiler.definitions import long_maps, rows
from compiler.definitions.integer_graph import DOMAIN

_WRITERS: dict[str, Callable[[str, int], onnx.FunctionProto]] = {
    **dict.fromkeys(rows.INPUTS, rows.definition), **dict.fromkeys(long_maps.INPUTS, long_maps.definition)
}  # fmt: skip


def definition(name: str, opset: int) -> onnx.FunctionProto:
    """The function of this name for models of this operator set of ONNX."""
    return _WRITERS[name](name, opset)


def is_definition(function: onnx.FunctionProto) -> bool:
    """Whether a function of a model is exactly one of these definitions."""
    known = function.domain == DOMAIN and function.name in _WRITERS
    return known and any(function == definition(function.name, item.version) for item in function.opset_import)
