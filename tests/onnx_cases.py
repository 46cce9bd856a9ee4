"""ONNX's own cases of single operators; to make them takes seconds, which only who asks for them needs."""

from __future__ import annotations

import warnings
from functools import cache
from typing import Any


@cache
def node_cases() -> tuple[Any, ...]:
    """Those that have a model."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # NumPy's, from the package's own export of its cases
        from onnx.backend.test.case.node import collect_testcases

        return tuple(case for case in collect_testcases(None) if case.model is not None)
