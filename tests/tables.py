"""Tables of cases: what is quick of all combinations, and what is left to the slow run."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import pytest


def in_turn(rows: Sequence[Any], columns: Sequence[Any]) -> list[Any]:
    """Every row with every column. Quick is one column for each row, in turn, so that each row and each column has quick
    cases; the rest is slow."""
    return [
        pytest.param(row, column, marks=() if number % len(columns) == place else pytest.mark.slow)
        for number, row in enumerate(rows)
        for place, column in enumerate(columns)
    ]


def one_in(step: int, cases: Iterable[Any]) -> list[Any]:
    """The first of every so many cases is quick, the rest is slow."""
    return [pytest.param(case, marks=pytest.mark.slow if number % step else ()) for number, case in enumerate(cases)]


def name_of(value: Any) -> str:
    """The name of a function or of a machine, as the name of its case; of a text, itself."""
    return value if isinstance(value, str) else str(getattr(value, "__name__", None) or value.name)
