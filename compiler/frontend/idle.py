"""Warns of models of which nothing reaches the machine: the user hardly wants a program that only runs onnxruntime."""

from __future__ import annotations

import warnings
from collections import Counter
from collections.abc import Iterable

import onnx

from compiler.frontend.pipeline import ImportedModel
from compiler.xgraph.ops import Cpu

_FOREIGN: dict[int, str] = {
    onnx.TensorProto.FLOAT16: "float16", onnx.TensorProto.BFLOAT16: "bfloat16", onnx.TensorProto.DOUBLE: "float64",
    onnx.TensorProto.INT16: "16 bits", onnx.TensorProto.UINT16: "16 bits",
}  # fmt: skip

_LAYERS = {"Conv", "ConvTranspose", "Gemm", "MatMul"}


class NothingOnMachine(UserWarning):
    """The warning that every node of the model runs on the CPU."""


def warn_of_empty(imported: ImportedModel) -> None:
    """Warns if the machine has nothing to do, and says what would help."""
    if all(isinstance(op, Cpu) for op in imported.graph.ops):
        reasons = Counter(imported.reasons.values()).most_common(1)
        why = f" ({reasons[0][0].rstrip('.')})" if reasons else ""
        warnings.warn(
            f"nothing of the model runs on the machine{why}: {_remedy(imported)}", NothingOnMachine, stacklevel=3
        )


def _remedy(imported: ImportedModel) -> str:
    model = imported.oracle
    operators = {node.op_type for node in model.graph.node}
    if operators & {"DynamicQuantizeLinear", "ConvInteger", "MatMulInteger", "DynamicQuantizeMatMul", "MatMulIntegerToFloat"}:
        return "it is quantised dynamically; give calibration data (--calibrate), with which it is taken as a float model"
    kinds = {_FOREIGN[elem] for elem in _types(model) if elem in _FOREIGN}
    if kinds:
        return f"it computes in {' and '.join(sorted(kinds))}; give the model in float32, or quantised to 8 bits"
    if imported.float_model is None and operators & _LAYERS:
        return "its layers are in float; --quantise-rest quantises them, with --calibrate for calibration data"
    return "`tilewright compile --verbose` says why for each node, `tilewright ops` what each operator asks for"


def _types(model: onnx.ModelProto) -> Iterable[int]:
    yield from (value.type.tensor_type.elem_type for value in (*model.graph.input, *model.graph.output))
    yield from (tensor.data_type for tensor in model.graph.initializer)
