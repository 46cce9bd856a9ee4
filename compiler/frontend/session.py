"""Sessions of onnxruntime that run a model as written: no graph optimisation fuses nodes or shifts ties.

A float model may be optimised: others are measured by it, and its last bits do not matter.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import onnx
from numpy.typing import NDArray

from isa.errors import TilewrightError
from sim.runtime.sessions import make_session, onnxruntime

Array = NDArray[Any]


class RuntimeRefusal(TilewrightError):
    """onnxruntime cannot load or run a model."""


def session(model: onnx.ModelProto | bytes, threads: int = 0, optimised: bool = False) -> onnxruntime.InferenceSession:
    """A session for a model. ``threads`` is 0 for one on each core; a model of a few hundred values is faster with 1."""
    options = onnxruntime.SessionOptions()
    levels = onnxruntime.GraphOptimizationLevel
    options.graph_optimization_level = levels.ORT_ENABLE_ALL if optimised else levels.ORT_DISABLE_ALL
    if threads:
        options.intra_op_num_threads = threads
    data = model if isinstance(model, bytes) else model.SerializeToString()
    try:
        return make_session(data, options)
    except Exception as error:  # onnxruntime's exceptions have no common base but this
        raise RuntimeRefusal(f"onnxruntime cannot load the model: {_brief(error)}") from None


def run(model: onnx.ModelProto | bytes, feeds: Mapping[str, Array], outputs: Sequence[str] | None = None) -> dict[str, Array]:
    """The outputs of one run, by name."""
    return run_session(session(model), feeds, outputs)


def run_session(
    loaded: onnxruntime.InferenceSession, feeds: Mapping[str, Array], outputs: Sequence[str] | None = None
) -> dict[str, Array]:
    names = list(outputs) if outputs is not None else [o.name for o in loaded.get_outputs()]
    try:
        values = loaded.run(names, dict(feeds))
    except Exception as error:  # onnxruntime's exceptions have no common base but this
        raise RuntimeRefusal(f"onnxruntime cannot run the model: {_brief(error)}") from None
    return {name: np.asarray(value) for name, value in zip(names, values, strict=True)}


def _brief(error: Exception) -> str:
    return " ".join(str(error).split())[:400]
