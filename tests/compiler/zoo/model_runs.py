"""Runs a model in onnxruntime and returns every tensor of it."""

from __future__ import annotations

import numpy as np
import onnx
import onnxruntime as ort
from numpy.typing import NDArray


def run_all(model: onnx.ModelProto, seed: int = 0) -> dict[str, NDArray[np.float32]]:
    """Of one inference on a random image; keyed by tensor name, the model's outputs among them."""
    outputs = [value.name for value in model.graph.output]
    inner = [value for value in model.graph.value_info if value.name not in outputs]
    model.graph.output.extend(inner)
    opened = model.SerializeToString()
    del model.graph.output[len(outputs) :]
    options = ort.SessionOptions()
    options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.log_severity_level = 3
    session = ort.InferenceSession(opened, options, providers=["CPUExecutionProvider"])
    (image,) = session.get_inputs()
    x = np.random.default_rng(seed).standard_normal(image.shape).astype(np.float32)
    names = [*outputs, *(value.name for value in inner)]
    return dict(zip(names, session.run(names, {image.name: x}), strict=True))


def root_mean_squares(tensors: dict[str, NDArray[np.float32]]) -> dict[str, float]:
    return {name: float(np.sqrt(np.mean(np.square(value, dtype=np.float64)))) for name, value in tensors.items()}
