"""All functions of the domain ``tilewright``, by name."""

from __future__ import annotations

import onnx

from compiler.definitions import long_conv, rows
from compiler.definitions.integer_graph import DOMAIN

_MODULES = {name: module for module in (rows, long_conv) for name in module.INPUTS}


def definition(name: str, opset: int) -> onnx.FunctionProto:
    """The function for models of this operator set of ONNX."""
    return _MODULES[name].definition(name, opset)


def is_definition(function: onnx.FunctionProto) -> bool:
    """Whether a model brings just this function."""
    known = function.domain == DOMAIN and function.name in _MODULES
    return known and any(function == definition(function.name, item.version) for item in function.opset_import)
