"""Invalid models: whatever error reading one runs into, the user is told what is wrong with the model."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import onnx

from compiler.frontend.errors import ModelError
from compiler.frontend.reader import Source, load
from compiler.frontend.session import RuntimeRefusal, session
from isa.errors import TilewrightError

REMEDY = "export the model again"


@contextmanager
def invalid_models_told(source: Source) -> Iterator[None]:
    """Turns an error of any kind into a ``ModelError``, if ONNX's checker or onnxruntime refuse the model, too.

    If both take the model, the error is a bug of the compiler, and stays as it is. A file is loaded again for the check: else
    the loaded model, as large as it is, would be held until the end.
    """
    try:
        yield
    except (TilewrightError, KeyboardInterrupt):
        raise
    except Exception as error:
        proto = load(source)
        reason = why_invalid(proto)
        if reason is None:
            raise
        raise ModelError(f"model {proto.graph.name}: {reason}; {REMEDY}") from error


def why_invalid(proto: onnx.ModelProto) -> str | None:
    """The error of ONNX's checker, or else of onnxruntime; None if neither refuses the model."""
    try:
        onnx.checker.check_model(proto, full_check=True)
    except Exception as error:  # the checker raises errors of its own kinds, and of protobuf's
        return f"not valid ONNX: {_first_line(error)}"
    try:
        session(proto)
    except RuntimeRefusal as refusal:
        return _first_line(refusal)
    return None


def _first_line(error: Exception) -> str:
    return next((line.strip() for line in str(error).splitlines() if line.strip()), type(error).__name__)[:300]
