"""The table of efforts: a row for each network and effort."""

from __future__ import annotations

import pytest

import bench.efforts
from bench.efforts import COLUMNS, GIVEN_UP, main, row_of
from compiler.search.effort import EFFORTS
from isa.errors import TilewrightError


def test_every_effort_says_what_it_gives_up() -> None:
    assert GIVEN_UP.keys() == EFFORTS.keys()


def test_a_row_has_what_was_measured() -> None:
    row = row_of("base", "net", "quick", {"seconds": 1.26, "cycles": 12345, "bytes": 1_234_567, "left out": 6789})
    assert dict(zip(COLUMNS, row, strict=True)) == {
        "configuration": "base", "network": "net", "effort": "quick", "clock s": "1.3", "cycles": "12,345",
        "DRAM kB of maps": "1,235", "groups left out": "6,789", "given up": GIVEN_UP["quick"],
    }  # fmt: skip


def test_an_unknown_effort_is_refused_before_anything_is_compiled(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.argv", ["efforts", "squeezenet", "--effort", "quick", "lazy"])
    monkeypatch.setattr(bench.efforts, "measure", None)
    with pytest.raises(TilewrightError, match="effort 'lazy': unknown"):
        main()
