"""What is told of programs before they are timed: each way by itself."""

from __future__ import annotations

from pathlib import Path

import pytest

from bench import row_error
from bench.network_table import put_row
from bench.strategies import imported
from compiler.programs.fastest import MERGED_GAIN
from compiler.neighbours import Neighbours
from compiler.search.cost import Evaluator
from isa.config import preset


def test_each_way_has_its_own_worst_and_median(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    page = tmp_path / "page.md"
    page.write_text(f"## {row_error.TITLE}\n\nWhat.\n", encoding="utf-8")
    monkeypatch.setattr(row_error, "PAGE", page)
    for name, sums, walks, timed in (("a", "-5.00%", "+1.00%", "+0.10%"), ("b", "+1.00%", "-2.00%", row_error.NOT_TIMED)):
        put_row(row_error.TITLE, row_error.COLUMNS, ["zu9", name, "1,000", sums, walks, timed, "2", "", ""], 2, page)
    assert row_error.told().splitlines()[2:] == [
        "- by the sum of its groups' costs: 5.00 % at worst (a on `zu9`), 3.00 % in the median of 2 rows; "
        "above what is asked: a on `zu9`.",
        "- as told by walking neighbours: 2.00 % at worst (b on `zu9`), 1.50 % in the median of 2 rows; "
        "above what is asked: none.",
        "- as told after timing: 0.10 % at worst (a on `zu9`), 0.10 % in the median of 1 rows; above what is asked: none.",
    ]


def test_what_the_search_was_told_is_of_the_partition_that_it_chose() -> None:
    """The fastest, or one that is nearly as fast with fewer groups merged."""
    evaluator = Evaluator(preset("zu9"), imported("squeezenet"))
    chosen, (tried,) = row_error.watched(evaluator)
    path = row_error.path_of(Neighbours(evaluator), chosen)
    assert len(path) == len(chosen)
    assert tried.told[path] * (1 - MERGED_GAIN) <= tried.told[tried.fastest()] <= tried.told[path]
