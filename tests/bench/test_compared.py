"""What rows of strategies compare, in their first column, and what is told of them."""

from __future__ import annotations

from pathlib import Path

import pytest

from bench import compared
from bench.network_table import put_row, rows_of
from compiler.search.strategies import STRATEGIES


@pytest.fixture
def page(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    page = tmp_path / "page.md"
    titles = (compared.CYCLES, compared.DRAM, compared.SEARCH_TIME)
    page.write_text("".join(f"## {title}\n\nWhat.\n\n" for title in titles), encoding="utf-8")
    monkeypatch.setattr(compared, "CYCLES_PAGE", page)
    monkeypatch.setattr(compared, "DRAM_PAGE", page)
    return page


def test_every_strategy_has_a_column_but_the_one_with_a_table_of_its_own() -> None:
    assert {*compared.SHOWN} == {*STRATEGIES} - {"fuse-and-shrink"}


def test_cycles_by_one_planner_come_before_what_the_paper_has(page: Path) -> None:
    measured = ["zu2", "googlenet", "72", "105", "1.0", "500", "1.0", "2.0"]
    rows = compared.cycles_rows(measured, [3000, 2500, 2200, 2000, 2000], [100.0, 120.0, 200.0, 230.0, 231.5])
    for row in reversed(rows):
        put_row(compared.CYCLES, compared.CYCLES_COLUMNS, row, 3, page)
    ours, theirs = rows_of(compared.CYCLES, page)
    assert (ours["compared"], ours["faster by"], ours["than naive by"]) == (compared.BY_ONE_PLANNER, "10.0%", "50.0%")
    assert (theirs["compared"], theirs["dnnvm: cycles, GOP/s"]) == (compared.WITH_DNNVM, "-, 231.5")
    assert theirs["faster by"] == "0.0%"
    told = compared.cycles_told()
    assert "- than of `dnnvm`: 10.0% to 10.0%, median 10.0% in 1 rows." in told
    assert "faster than that of `best`: none." in told
    assert told.index("by one planner") < told.index("What is not like for like")


def test_a_program_that_is_faster_than_best_is_named(page: Path) -> None:
    measured = ["base", "googlenet", "72", "105", "1.0", "500", "1.0", "2.0"]
    (row,) = compared.cycles_rows(measured, [3000, 2500, 1900, 2000, 2000], [100.0] * 5)
    put_row(compared.CYCLES, compared.CYCLES_COLUMNS, row, 3, page)
    assert "faster than that of `best`: googlenet on `base`." in compared.cycles_told()


def test_bytes_by_one_planner_come_first_and_row_tiles_are_compared_among_themselves(page: Path) -> None:
    found = [4e6] * len(compared.SHOWN)
    found[compared.SHOWN.index("dnnvm")] = 8e6
    found[compared.SHOWN.index("optimus-as-written")] = 2e6
    rows = compared.dram_rows(["128", "1", "squeezenet"], found, {"dnnvm": 10e6, "optimus": 9e6}, 1e6, "yes", "")
    for row in reversed(rows):
        put_row(compared.DRAM, compared.DRAM_COLUMNS, row, 4, page)
    ours, tiled = rows_of(compared.DRAM, page)
    assert (ours["compared"], ours["less by"]) == (compared.BY_ONE_PLANNER, "50.0%")
    assert (tiled["compared"], tiled["less by"], tiled["best MB"]) == (compared.IN_ROWS, "10.0%", "")
    told = compared.dram_told()
    assert "*our planner*: best below dnnvm: 50.0% to 50.0%" in told
    assert "*row tiles*: optimus below dnnvm: 10.0% to 10.0%" in told
    assert "Less than `best` move `optimus-as-written` in 1 of 1 rows, by at most 100.0%; no other" in told
    assert "`dnnvm` in row tiles by 60.0% to 60.0%, median 60.0%; in 1 of 1 rows" in told.replace("\n", " ")


def test_exact_says_of_which_groups(page: Path) -> None:
    assert compared.EXACT == "exact, up to 10 operations"
    columns = ("network", compared.EXACT, compared.GAP)
    for row in (["a", "yes", "0.0%"], ["b", "yes", "123.9%"], ["c", "no", "50.0%"]):
        put_row(compared.SEARCH_TIME, columns, row, 1, page)
    told = compared.search_told().replace("\n", " ")
    assert told.startswith("In 2 of 3 rows no partition into groups of up to 10 operations is better.")
    assert "not known there of b (123.9%);" in told
