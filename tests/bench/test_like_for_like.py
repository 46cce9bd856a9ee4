"""The sentences under the tables of docs/search.md are those that the tables say."""

from __future__ import annotations

import pytest

from bench.like_for_like import TITLE, below, sentences, told
from bench.strategies import PAGE


def test_percent_below() -> None:
    assert below(["1.0", "3.0"], ["2.0", "3.0"]) == [50.0, 0.0]


def test_a_comparison_tells_its_range_its_median_and_how_often_it_reaches_what_the_paper_has() -> None:
    assert told("this below that", [0.0, 17.0, 40.04]) == (
        "- this below that: 0.0% to 40.0%, median 17.0%; at least 17% in 2 of 3 rows."
    )


@pytest.mark.parametrize("line", [line for line in sentences() if line])
def test_the_page_says_what_its_tables_say(line: str) -> None:
    assert line in PAGE.read_text(encoding="utf-8").split(f"## {TITLE}")[1].split("## ")[0].splitlines()
