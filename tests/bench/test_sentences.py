"""The sentences under the tables of docs/results are those that the tables say."""

from __future__ import annotations

from pathlib import Path

import pytest

from bench import bounds, chosen_groups, compared
from bench.network_table import CYCLES, DRAM, rows_of, text_of
from bench.sentences import SENTENCES


@pytest.mark.parametrize(("page", "title"), SENTENCES, ids=[title for _, title in SENTENCES])
def test_the_page_says_what_its_table_says(page: Path, title: str) -> None:
    assert text_of(title, page) == SENTENCES[page, title](), "python -m bench.sentences makes it again"


def test_tables_of_chosen_groups_are_what_the_measured_tables_say() -> None:
    for title, made in ((chosen_groups.TITLE, chosen_groups.rows()), (chosen_groups.MODEL, chosen_groups.model_rows())):
        written = [[*row.values()] for row in rows_of(title, CYCLES)]
        assert sorted(written) == sorted(made), f"{title}: python -m bench.chosen_groups makes it again"


def test_one_search_has_the_same_bytes_in_both_tables() -> None:
    """Effort normal, batch 1: a row of *Bounds* that differs is older, or newer, than that of *DRAM bytes*."""
    there = {compared.moved(row): row["best MB"] for row in compared.by_kind()[0]}
    here = [row for row in rows_of(bounds.TITLE, DRAM) if row["effort"] == bounds.NORMAL]
    stale = [row["network"] for row in here if there[compared.moved({**row, "batch": "1"})] != row["best MB"]]
    assert here
    assert not stale, f"measure again: python -m bench.bounds {' '.join(stale)}"
