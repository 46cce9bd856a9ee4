"""Float networks quantised by onnxruntime's tools, calibrated with noise."""

from __future__ import annotations

import logging
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnxruntime
from onnxruntime.quantization import CalibrationDataReader, QuantFormat, QuantType, quantize_static

ACTIVATIONS = {"uint8": QuantType.QUInt8, "int8": QuantType.QInt8}
WEIGHTS = {"per tensor": False, "per channel": True}
FORMS = {"QDQ": QuantFormat.QDQ, "QOperator": QuantFormat.QOperator}
SAMPLES = 2


class Noise(CalibrationDataReader):  # type: ignore[misc]
    """A few random images."""

    def __init__(self, model: onnx.ModelProto) -> None:
        rng = np.random.default_rng(0)
        shapes = {v.name: [d.dim_value for d in v.type.tensor_type.shape.dim] for v in model.graph.input}
        self.feeds = iter([{n: rng.normal(size=s).astype(np.float32) for n, s in shapes.items()} for _ in range(SAMPLES)])

    def get_next(self) -> dict[str, Any] | None:
        return next(self.feeds, None)


def quantised(model: bytes, activations: str, weights: str, form: str) -> onnx.ModelProto:
    """By onnxruntime's tool, which changes the model that it is given, and tells much; weights are int8."""
    logging.getLogger().setLevel(logging.ERROR)
    onnxruntime.set_default_logger_severity(3)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "quantised.onnx"
        source = onnx.load_model_from_string(model)
        quantize_static(
            source, path, Noise(source), quant_format=FORMS[form], per_channel=WEIGHTS[weights],
            activation_type=ACTIVATIONS[activations], weight_type=QuantType.QInt8,
        )  # fmt: skip
        return onnx.load(path)
