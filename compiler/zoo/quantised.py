"""Float networks quantised by onnxruntime's tools, calibrated with noise."""

from __future__ import annotations

import logging
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from onnx import numpy_helper

from compiler.frontend.model import Array
from compiler.quantise.draft import MOST_MEAN_RATIO
from sim.runtime.sessions import onnxruntime

# isort: split
# This import loads onnxruntime, whose settings must be made before (sim.runtime.sessions).
from onnxruntime.quantization import CalibrationDataReader, QuantFormat, QuantType, quantize_static
from onnxruntime.quantization.registry import QDQRegistry, QLinearOpsRegistry

ACTIVATIONS = {"uint8": QuantType.QUInt8, "int8": QuantType.QInt8}
WEIGHTS = {"per tensor": False, "per channel": True}
FORMS = {"QDQ": QuantFormat.QDQ, "QOperator": QuantFormat.QOperator}
SAMPLES = 2
OPSET_OF_INT4 = 21
"""The operator set in which DequantizeLinear has four bits."""
ALL_OPERATORS = (
    "Abs", "Ceil", "Celu", "Cos", "Div", "Elu", "Erf", "Exp", "Floor", "Gelu", "GlobalMaxPool", "HardSigmoid", "HardSwish",
    "Log", "Max", "Min", "Mish", "Neg", "PRelu", "Pow", "Reciprocal", "ReduceMax", "ReduceMean", "ReduceSum", "Round", "Selu",
    "Sign", "Sin", "Softplus", "Softsign", "Sqrt", "Sub", "Sum", "Swish", "Tanh", "ThresholdedRelu", "DepthToSpace",
    "SpaceToDepth", "RMSNormalization",
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
    model: bytes, activations: str, weights: str, form: str, *, everything: bool = False, powers: bool = False,
    int4: bool = False,
) -> onnx.ModelProto:  # fmt: skip
    """The model, quantised by onnxruntime's tool, which changes its input and logs much. Weights are int8, or ``int4`` (QDQ).

    ``everything`` (QDQ) quantises every operator that the machine may compute, not only those of the tool's choice. ``powers``
    makes all scales powers of two.
    """
    logging.getLogger().setLevel(logging.ERROR)
    onnxruntime.set_default_logger_severity(3)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "quantised.onnx"
        source = onnx.load_model_from_string(model)
        if int4:
            source = onnx.version_converter.convert_version(source, OPSET_OF_INT4)
        quantize_static(
            source, path, Noise(source), quant_format=FORMS[form], per_channel=WEIGHTS[weights],
            activation_type=ACTIVATIONS[activations], weight_type=QuantType.QInt4 if int4 else QuantType.QInt8,
            op_types_to_quantize=[*QDQRegistry, *QLinearOpsRegistry, *ALL_OPERATORS] if everything else None,
        )  # fmt: skip
        done = onnx.load(path)
    return with_means_that_run(with_powers_of_two(done) if powers else done)


def with_powers_of_two(model: onnx.ModelProto) -> onnx.ModelProto:
    """The model with the nearest power of two for each scale; a bias has the product of the scales that it is added to."""
    constants = {tensor.name: tensor for tensor in model.graph.initializer}
    for name in {name for node in model.graph.node for name in node.input if name.endswith("_scale") and name in constants}:
        values = numpy_helper.to_array(constants[name])
        _set(constants[name], np.exp2(np.round(np.log2(values))))
    return _with_scales_of_biases(model)


def with_means_that_run(model: onnx.ModelProto) -> onnx.ModelProto:
    """The model with coarser scales for means that are tiny beside their input's scale; onnxruntime refuses finer ones."""
    constants = {tensor.name: tensor for tensor in model.graph.initializer}
    makers = {name: node for node in model.graph.node for name in node.output}
    readers = {name: node for node in model.graph.node for name in node.input}
    coarser = False
    for node in model.graph.node:
        if node.op_type == "QLinearGlobalAveragePool":
            ends = node.input[1], node.input[3]
        elif node.op_type == "GlobalAveragePool":
            before, after = makers.get(node.input[0]), readers.get(node.output[0])
            if before is None or after is None or (before.op_type, after.op_type) != ("DequantizeLinear", "QuantizeLinear"):
                continue
            ends = before.input[1], after.input[1]
        else:
            continue
        source, mean = (numpy_helper.to_array(constants[name]) for name in ends)
        if source / mean >= MOST_MEAN_RATIO:
            _set(constants[ends[1]], source / MOST_MEAN_RATIO)
            coarser = True
    return _with_scales_of_biases(model) if coarser else model


def _set(tensor: onnx.TensorProto, value: Array) -> None:
    tensor.CopyFrom(numpy_helper.from_array(np.asarray(value, np.float32), tensor.name))


def _with_scales_of_biases(model: onnx.ModelProto) -> onnx.ModelProto:
    """The model in which a bias with a scale has the product of the scales of input and weights."""
    constants = {tensor.name: tensor for tensor in model.graph.initializer}
    makers = {name: node for node in model.graph.node for name in node.output}
    for node in model.graph.node:
        read = [makers.get(name) for name in node.input[:3]]
        if node.op_type not in ("Conv", "ConvTranspose", "Gemm") or len(read) < 3:
            continue
        scales = [constants.get(maker.input[1]) for maker in read if maker is not None and maker.op_type == "DequantizeLinear"]
        if len(scales) == 3 and all(scale is not None for scale in scales):
            x, weight, bias = (numpy_helper.to_array(scale) for scale in scales if scale is not None)
            assert scales[2] is not None
            _set(scales[2], np.broadcast_to(x * weight, bias.shape))
    return model
