"""The models that a program carries: the parts on the CPU, and the whole."""

from __future__ import annotations

import onnx
from google.protobuf.message import DecodeError

from compiler.frontend.errors import ModelError
from compiler.frontend.reader import check_text
from isa.program import ProgramError


def parsed(name: str, model: bytes) -> onnx.ModelProto:
    """The model that a program has under this name."""
    try:
        found = onnx.load_model_from_string(model)
        check_text(found, "its names")
    except (DecodeError, ModelError):
        raise ProgramError(f"model {name!r} of the program: not ONNX; compile the network again") from None
    return found
