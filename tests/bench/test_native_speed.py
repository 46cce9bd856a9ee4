"""The table of what is written in two languages: what they find is compared before it is timed."""

from __future__ import annotations

import pytest

from bench.native_speed import COLUMNS, both, measure
from compiler.programs.natives import LIBRARIES
from isa.errors import TilewrightError
from sim.native.library import Library
from tests.tools import needs_cxx


def test_what_differs_is_an_error_and_not_timed() -> None:
    with pytest.raises(TilewrightError, match="cycle model: Python and C\\+\\+ differ"):
        both("cycle model", lambda: 1, lambda: 2, 1)


def test_seconds_are_of_the_best_run_and_their_ratio(monkeypatch: pytest.MonkeyPatch) -> None:
    taken = iter([3.0, 2.4, 2.6, 0.3, 0.4, 0.5])
    monkeypatch.setattr("bench.native_speed._seconds", lambda _: next(taken))
    assert both("sums", lambda: 7, lambda: 7, 3) == ["2.400", "0.300", "8"]


@needs_cxx
def test_a_row_has_both_of_a_network() -> None:
    for library in LIBRARIES:
        library.built()
    row = dict(zip(COLUMNS, measure("squeezenet", "base", 1), strict=True))
    assert row["network"] == "squeezenet"
    assert int(row["instructions"].replace(",", "")) > 500
    assert int(row["cycle model: times"]) > 1
    assert int(row["scheduling: times"]) > 1


def test_without_the_libraries_it_says_how_to_build_them(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Library, "loaded", lambda _: None)
    with pytest.raises(TilewrightError, match=r"libraries: they are not built; run `python -m compiler.programs.natives`"):
        measure("squeezenet", "nano", 1)
