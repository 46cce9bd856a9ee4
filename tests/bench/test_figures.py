"""Figures of cells, and how sentences put them."""

from __future__ import annotations

import pytest

from bench.figures import below, listed, number, paragraph, spread, told


@pytest.mark.parametrize(
    ("cell", "figure"), [("3,669,107, 258.8", 3_669_107), ("-2.57 %", -2.57), ("+0.3%", 0.3), ("12.443", 12.443)]
)
def test_the_first_figure_of_a_cell(cell: str, figure: float) -> None:
    assert number(cell) == figure


def test_a_cell_without_a_figure_is_refused() -> None:
    with pytest.raises(ValueError, match="not timed"):
        number("not timed")


def test_percent_below() -> None:
    assert below(["1.0", "3.0"], ["2.0", "3.0"]) == [50.0, 0.0]


def test_a_comparison_tells_its_range_its_median_and_how_often_it_reaches_what_the_paper_has() -> None:
    assert spread([0.0, 17.0, 40.04]) == "0.0% to 40.0%, median 17.0%"
    assert told("this below that", [0.0, 17.0, 40.04]) == (
        "- this below that: 0.0% to 40.0%, median 17.0%; at least 17% in 2 of 3 rows."
    )


def test_names_in_a_row() -> None:
    assert [listed(["a", "b", "c"][:count]) for count in range(4)] == ["none", "a", "a and b", "a, b and c"]


def test_a_paragraph_is_as_wide_as_the_pages() -> None:
    lines = paragraph("A word.", "And a very-long word. " * 20).splitlines()
    assert max(map(len, lines)) <= 128
    assert not any(line.endswith("-") for line in lines)
