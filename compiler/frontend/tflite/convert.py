"""A TFLite model as an ONNX model: operator by operator, with the file's tensors, shapes and scales."""

from __future__ import annotations

import onnx

from compiler.frontend.errors import ModelError
from compiler.frontend.tflite.arithmetic import ARITHMETIC, Translation
from compiler.frontend.tflite.constants import folded
from compiler.frontend.tflite.file import parse
from compiler.frontend.tflite.logic import LOGIC
from compiler.frontend.tflite.movement import MOVEMENT
from compiler.frontend.tflite.state import with_state
from compiler.frontend.tflite.windows import convolution, dense, pool, transposed, transposed_with_bias
from compiler.frontend.tflite.writer import Writer

OPERATORS: dict[str, Translation] = {
    **ARITHMETIC, **LOGIC, **MOVEMENT, **dict.fromkeys(("CONV_2D", "DEPTHWISE_CONV_2D"), convolution),
    **dict.fromkeys(("AVERAGE_POOL_2D", "MAX_POOL_2D"), pool), "FULLY_CONNECTED": dense, "TRANSPOSE_CONV": transposed,
    "CUSTOM Convolution2DTransposeBias": transposed_with_bias,
}  # fmt: skip


def from_tflite(data: bytes, where: str) -> onnx.ModelProto:
    """Inputs and outputs are those of the file, NHWC. ``where``: what errors call the file."""
    graph = folded(with_state(parse(data, where), where))
    writer = Writer(graph, where)
    for operator in graph.operators:
        if operator.kind not in OPERATORS:
            name = graph.tensors[operator.outputs[0]].name
            kind = operator.kind.removeprefix("CUSTOM ")
            own = "is not the format's own: end the model before it" if kind != operator.kind else "is not known"
            raise ModelError(
                f"{where}: operator {kind}, which makes {name}, {own}; expected are {', '.join(sorted(OPERATORS))}"
            )
        OPERATORS[operator.kind](writer, operator)
    return writer.model()
