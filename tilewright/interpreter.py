"""Compares TFLite's own interpreter with onnxruntime's integer kernels, where ``ai-edge-litert`` is installed."""

from __future__ import annotations

import importlib
from collections.abc import Mapping
from pathlib import Path

from compiler.frontend.tflite.file import is_tflite
from isa.program import Program
from sim.runtime.run import run_on_cpu
from tilewright.comparison import Array, Comparison, compare

MISSING = "TFLite's interpreter was not asked: ai-edge-litert is not installed"
OTHERWISE = "TFLite's interpreter was not asked: the program has other inputs than the file"


def beside_interpreter(model: Path, program: Program, inputs: Mapping[str, Array]) -> list[Comparison] | str:
    """The interpreter's outputs beside onnxruntime's, which the machine follows; or a text that says why there are none. Empty
    if the model is no TFLite file."""
    data = model.read_bytes()
    if not is_tflite(data):
        return []
    try:
        package = importlib.import_module("ai_edge_litert.interpreter")
    except ImportError:
        return MISSING
    # Reference kernels: those of its delegates round in other ways on every host.
    kernels = package.OpResolverType.BUILTIN_WITHOUT_DEFAULT_DELEGATES
    interpreter = package.Interpreter(model_content=data, experimental_op_resolver_type=kernels)
    interpreter.allocate_tensors()
    details = interpreter.get_input_details()
    if len(details) != len(program.inputs):  # variables that are inputs of the program
        return OTHERWISE
    for tensor, detail in zip(program.inputs, details, strict=True):
        value = inputs[tensor.name]
        if (value.shape, value.dtype) != (tuple(detail["shape"]), detail["dtype"]):
            return OTHERWISE
        interpreter.set_tensor(detail["index"], value)
    interpreter.invoke()
    found = [interpreter.get_tensor(detail["index"]) for detail in interpreter.get_output_details()]
    expected = run_on_cpu(program, inputs)
    return compare(dict(zip(expected, found, strict=True)), expected)
