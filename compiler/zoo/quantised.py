"""Float networks quantised by onnxruntime's tools, calibrated with noise."""

from __future__ import annotations

import logging
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnxruntime
from onnx import numpy_helper
from onnxruntime.quantization import CalibrationDataReader, QuantFormat, QuantType, quantize_static
from onnxruntime.quantization.registry import QDQRegistry, QLinearOpsRegistry

ACTIVATIONS = {"uint8": QuantType.QUInt8, "int8": QuantType.QInt8}
WEIGHTS = {"per tensor": False, "per channel": True}
FORMS = {"QDQ": QuantFormat.QDQ, "QOperator": QuantFormat.QOperator}
SAMPLES = 2
ALL_OPERATORS = (
    "Abs", "Ceil", "Celu", "Cos", "Div", "Elu", "Erf", "Exp", "Floor", "Gelu", "GlobalMaxPool", "HardSigmoid", "HardSwish",
    "Log", "Max", "Min", "Mish", "Neg", "PRelu", "Pow", "Reciprocal", "ReduceMax", "ReduceMean", "ReduceSum", "Round", "Selu",
    "Sign", "Sin", "Softplus", "Softsign", "Sqrt", "Sub", "Sum", "Swish", "Tanh", "ThresholdedRelu", "DepthToSpace",
    "SpaceToDepth",
)  # fmt: skip
"""Operators that onnxruntime's tool leaves in float unless it is asked."""


class Noise(CalibrationDataReader):  # type: ignore[misc]
    """A few random images."""

    def __init__(self, model: onnx.ModelProto) -> None:
        rng = np.random.default_rng(0)
        shapes = {v.name: [d.dim_value for d in v.type.tensor_type.shape.dim] for v in model.graph.input}
        self.feeds = iter([{n: rng.normal(size=s).astype(np.float32) for n, s in shapes.items()} for _ in range(SAMPLES)])

    def get_next(self) -> dict[str, Any] | None:
        return next(self.feeds, None)


def quantised(
    model: bytes, activations: str, weights: str, form: str, *, everything: bool = False, powers: bool = False
) -> onnx.ModelProto:
    """By onnxruntime's tool, which changes the model that it is given, and tells much; weights are int8.

    ``everything`` (QDQ): every operator that the machine may compute, not only those of the tool's choice. ``powers``: all
    scales become powers of two.
    """
    logging.getLogger().setLevel(logging.ERROR)
    onnxruntime.set_default_logger_severity(3)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "quantised.onnx"
        source = onnx.load_model_from_string(model)
        quantize_static(
            source, path, Noise(source), quant_format=FORMS[form], per_channel=WEIGHTS[weights],
            activation_type=ACTIVATIONS[activations], weight_type=QuantType.QInt8,
            op_types_to_quantize=[*QDQRegistry, *QLinearOpsRegistry, *ALL_OPERATORS] if everything else None,
        )  # fmt: skip
        done = onnx.load(path)
    return with_powers_of_two(done) if powers else done


def with_powers_of_two(model: onnx.ModelProto) -> onnx.ModelProto:
    """The nearest powers of two in place of all scales; a bias has the product of those of what it is added to."""
    constants = {tensor.name: tensor for tensor in model.graph.initializer}
    makers = {name: node for node in model.graph.node for name in node.output}
    for name in {name for node in model.graph.node for name in node.input if name.endswith("_scale") and name in constants}:
        values = numpy_helper.to_array(constants[name])
        constants[name].CopyFrom(numpy_helper.from_array(np.exp2(np.round(np.log2(values))).astype(np.float32), name))
    for node in model.graph.node:
        read = [makers.get(name) for name in node.input[:3]]
        if node.op_type not in ("Conv", "ConvTranspose", "Gemm") or len(read) < 3:
            continue
        scales = [constants.get(maker.input[1]) for maker in read if maker is not None and maker.op_type == "DequantizeLinear"]
        if len(scales) == 3 and all(scale is not None for scale in scales):
            x, weight, bias = ((scale.name, numpy_helper.to_array(scale)) for scale in scales if scale is not None)
            product = np.broadcast_to(x[1] * weight[1], bias[1].shape).astype(np.float32)
            constants[bias[0]].CopyFrom(numpy_helper.from_array(product, bias[0]))
    return model
