"""Translates a TFLite model to an ONNX model, operator by operator, with the file's tensors, shapes and scales."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial

import onnx

from compiler.frontend.errors import ModelError
from compiler.frontend.tflite.arithmetic import ARITHMETIC, Translation
from compiler.frontend.tflite.constants import folded
from compiler.frontend.tflite.control import chosen, repeated
from compiler.frontend.tflite.file import parse
from compiler.frontend.tflite.logic import LOGIC
from compiler.frontend.tflite.movement import MOVEMENT
from compiler.frontend.tflite.sizes import ask, follow, foretell
from compiler.frontend.tflite.state import with_state
from compiler.frontend.tflite.windows import convolution, dense, pool, transposed, transposed_with_bias
from compiler.frontend.tflite.writer import Writer

OPERATORS: dict[str, Translation] = {
    **ARITHMETIC, **LOGIC, **MOVEMENT, **dict.fromkeys(("CONV_2D", "DEPTHWISE_CONV_2D"), convolution),
    **dict.fromkeys(("AVERAGE_POOL_2D", "MAX_POOL_2D"), pool), "FULLY_CONNECTED": dense, "TRANSPOSE_CONV": transposed,
    "CUSTOM Convolution2DTransposeBias": transposed_with_bias,
}  # fmt: skip


def from_tflite(data: bytes, where: str, shapes: Mapping[str, tuple[int, ...]] | None = None) -> onnx.ModelProto:
    """The ONNX model; its inputs and outputs are those of the file, NHWC.

    ``where`` is the name of the file in errors. ``shapes`` are those of inputs that get other shapes than in the file.
    """
    graphs = parse(data, where)
    writer = Writer(graphs, where, folded(with_state(graphs[0], where)))
    ask(writer, shapes or {})
    translate(writer)
    return writer.model()


def translate(writer: Writer) -> None:
    """Translates the operators of the writer's graph."""
    for operator in writer.graph.operators:
        if operator.kind not in OPERATORS:
            name = writer.tensor(operator.outputs[0]).name
            kind = operator.kind.removeprefix("CUSTOM ")
            known = f"is not known; expected are {', '.join(sorted(OPERATORS))}"
            if kind != operator.kind:
                known = "is not the format's own: convert the model so that it ends before it, and run the rest by yourself"
            raise ModelError(f"{writer.where}: operator {kind}, which makes {name}, {known}")
        begin = len(writer.nodes)
        if writer.types is not None:
            foretell(writer, operator)
        OPERATORS[operator.kind](writer, operator)
        if writer.types is not None:
            follow(writer, operator, begin)


OPERATORS |= {"IF": partial(chosen, translate), "WHILE": partial(repeated, translate)}
