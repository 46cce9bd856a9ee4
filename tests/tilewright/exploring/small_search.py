"""A search that compiles in a second: the networks of ``small_models`` on machines like ``nano``."""

from __future__ import annotations

from typing import Any

import onnx

from tests.tilewright.small_models import chain_model, float_model
from tilewright.exploring.exploration import explore
from tilewright.exploring.result import Exploration

SPACE = {"ic_p": (2, 4, 8), "oc_p": (2, 4), "px_p": (1, 2), "finish_parts": (1, 2), "axi_data_bits": (64, 128)}
"""With ``nano``'s other fields; not all of its combinations fit the chip."""


def models() -> dict[str, onnx.ModelProto]:
    return {"one": float_model(), "chain": chain_model(3)}


def search(**changes: Any) -> Exploration:
    asked: dict[str, Any] = {
        "models": models(), "chip": "LFE5U-85F", "config": "nano", "space": SPACE, "effort": "quick", "machines": None,
        "sensitive": False,
    }  # fmt: skip
    return explore(**{**asked, **changes})
