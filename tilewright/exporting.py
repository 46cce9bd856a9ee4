"""Exports models of PyTorch to ONNX by torch itself; nothing else here needs torch."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any, TypeAlias

import onnx

from isa.errors import TilewrightError

ExampleInputs: TypeAlias = "Sequence[Any] | Any"
"""A tensor, or one for each argument of the module."""


def exported(model: Any, example_inputs: ExampleInputs | None) -> Path | str | onnx.ModelProto:
    """The model as ONNX if it is a torch module or a program of ``torch.export``. A path or a model is returned as it is."""
    if isinstance(model, str | Path | onnx.ModelProto):
        if example_inputs is not None:
            raise TilewrightError("example_inputs: only a torch module is exported with them; leave them out")
        return model
    torch = sys.modules.get("torch")  # whoever gives a module has imported it
    if torch is None or not isinstance(model, (torch.nn.Module, torch.export.ExportedProgram)):
        kinds = "a path, an onnx.ModelProto, a torch.nn.Module or a torch.export program"
        raise TilewrightError(f"model of type {type(model).__name__}: expected {kinds}")
    if isinstance(model, torch.nn.Module):
        if example_inputs is None:
            raise TilewrightError("example_inputs: missing; a torch module is exported with inputs of the shapes that it gets")
        model.eval()
        given = tuple(example_inputs) if isinstance(example_inputs, list | tuple) else (example_inputs,)
    else:
        given = ()
    proto = torch.onnx.export(model, given, dynamo=True).model_proto
    if not isinstance(proto, onnx.ModelProto):
        raise TilewrightError(f"torch {torch.__version__}: its exporter gives no onnx.ModelProto; expected torch 2.5 or newer")
    return proto
