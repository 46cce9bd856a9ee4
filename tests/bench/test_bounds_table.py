"""The sentence below the bounds: one effort at a time, and a network a row."""

from __future__ import annotations

from pathlib import Path

import pytest

from bench import bounds
from bench.network_table import put_row
from compiler.search.partition import Partition


@pytest.mark.parametrize(
    ("bound", "exact", "said"), [(9, True, "any size"), (8, True, "up to 10 operations"), (8, False, "none")]
)
def test_exact_says_among_which_groups(bound: int, exact: bool, said: str) -> None:
    assert bounds.exact_among(Partition((), 9, exact, bound), 10) == said


def test_the_median_is_over_networks_and_of_one_effort(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    page = tmp_path / "page.md"
    page.write_text(f"## {bounds.TITLE}\n\nWhat.\n", encoding="utf-8")
    monkeypatch.setattr(bounds, "PAGE", page)
    rows = [("normal", "128", "1", name, "2.000", gap) for name, gap in (("a", "0.0%"), ("b", "40.0%"), ("c", "10.0%"))]
    rows += [("full", kib, "1", "b", "1.500", "0.0%") for kib in ("64", "128", "256")]
    rows.append(("full", "128", "1", "d", "3.000", "5.0%"))
    for *keys, moved, gap in rows:
        put_row(bounds.TITLE, bounds.COLUMNS, [*keys, moved, "1.000", gap, "7", "0", "any size", "1.0"], 4, page)
    told = bounds.told().replace("\n", " ")
    assert "for each of 3 networks: the median gap is 10.0%, the greatest 40.0%; 1 of 3 rows" in told
    assert "Effort `full`: 3 of 4 rows are proved best of all partitions, those not of d at 128 KiB (5.0%)." in told
    assert "Of b at 128 KiB it finds 1.500 MB, where effort `normal` has 2.000 MB." in told
