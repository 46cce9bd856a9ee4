"""Models that no rule of ONNX allows: whatever reading one trips over, the user is told what is wrong with the model."""

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
    """An error of any kind within becomes a ``ModelError``, if ONNX's checker or onnxruntime refuse the model, too.

    What both take and we do not is our mistake, and stays what it is. A file is loaded again to ask them: else all that was
    loaded, as large as it is, would be held until the end.
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
    """What the checker says, or else onnxruntime; None if neither has anything against the model."""
    try:
        onnx.checker.check_model(proto, full_check=True)
    except Exception as error:  # of its own kinds, and of protobuf's
        return f"not valid ONNX: {_first_line(error)}"
    try:
        session(proto)
    except RuntimeRefusal as refusal:
        return _first_line(refusal)
    return None


def _first_line(error: Exception) -> str:
    return next((line.strip() for line in str(error).splitlines() if line.strip()), type(error).__name__)[:300]
