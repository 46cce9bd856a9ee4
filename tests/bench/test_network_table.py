"""The page of measurements: a row is put in its place, and what else the page says stays."""

from __future__ import annotations

from pathlib import Path

from bench.network_table import put_row, put_text, rows_of

PAGE = "# Page\n\n## One\n\nText.\n\n## Two\n\nMore.\n"
COLUMNS = ("network", "cycles")


def test_a_table_begins_below_its_heading(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text(PAGE)
    put_row("One", COLUMNS, ["b", "2"], 1, page)
    put_row("Two", COLUMNS, ["c", "9"], 1, page)
    put_row("One", COLUMNS, ["a", "1"], 1, page)
    assert page.read_text() == (
        "# Page\n\n## One\n\nText.\n\n| network | cycles |\n|---|---:|\n| a | 1 |\n| b | 2 |\n\n"
        "## Two\n\nMore.\n\n| network | cycles |\n|---|---:|\n| c | 9 |\n"
    )


def test_a_new_measurement_takes_the_place_of_the_old_one(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text(PAGE)
    for cycles in ("1", "2"):
        put_row("One", COLUMNS, ["a", cycles], 1, page)
    assert page.read_text().count("| a |") == 1
    assert "| a | 2 |" in page.read_text()


def test_rows_of_other_columns_are_dropped(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text(PAGE)
    put_row("One", ("network", "seconds"), ["a", "1"], 1, page)
    put_row("One", COLUMNS, ["b", "2"], 1, page)
    assert "| a |" not in page.read_text()


def test_what_a_table_says_is_read_back_and_put_below_it(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text(PAGE)
    for title in ("One", "Two"):
        for name, cycles in (("a", "1"), ("b", "2")):
            put_row(title, COLUMNS, [name, cycles], 1, page)
        for text in ("Old.", f"{sum(int(row['cycles']) for row in rows_of(title, page))} cycles."):
            put_text(title, text, page)
    table = "| network | cycles |\n|---|---:|\n| a | 1 |\n| b | 2 |\n\n3 cycles.\n"
    assert page.read_text() == f"# Page\n\n## One\n\nText.\n\n{table}\n## Two\n\nMore.\n\n{table}"
    put_row("One", COLUMNS, ["c", "3"], 1, page)
    assert "| c | 3 |\n\n3 cycles." in page.read_text()


def test_a_table_can_begin_anew(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text(PAGE)
    put_row("One", COLUMNS, ["a", "1"], 1, page)
    put_row("One", COLUMNS, ["b", "2"], 1, page, first_of_all=True)
    put_row("One", COLUMNS, ["c", "3"], 1, page)
    assert [row["network"] for row in rows_of("One", page)] == ["b", "c"]
