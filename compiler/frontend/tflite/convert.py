"""A TFLite model as an ONNX model: operator by operator, with the file's tensors, shapes and scales."""

from __future__ import annotations

import onnx

from compiler.frontend.errors import ModelError
from compiler.frontend.tflite.arithmetic import ARITHMETIC, Translation
from compiler.frontend.tflite.file import parse
from compiler.frontend.tflite.movement import MOVEMENT
from compiler.frontend.tflite.windows import convolution, dense, pool, transposed
from compiler.frontend.tflite.writer import Writer

OPERATORS: dict[str, Translation] = {
    **ARITHMETIC, **MOVEMENT, **dict.fromkeys(("CONV_2D", "DEPTHWISE_CONV_2D"), convolution),
    **dict.fromkeys(("AVERAGE_POOL_2D", "MAX_POOL_2D"), pool), "FULLY_CONNECTED": dense, "TRANSPOSE_CONV": transposed,
}  # fmt: skip


def from_tflite(data: bytes, where: str) -> onnx.ModelProto:
    """Inputs and outputs are those of the file, NHWC. ``where``: what errors call the file."""
    graph = parse(data, where)
    writer = Writer(graph, where)
    for operator in graph.operators:
        if operator.kind not in OPERATORS:
            name = graph.tensors[operator.outputs[0]].name
            raise ModelError(
                f"{where}: operator {operator.kind}, which makes {name}, is not known; expected are "
                f"{', '.join(sorted(OPERATORS))}"
            )
        OPERATORS[operator.kind](writer, operator)
    return writer.model()
