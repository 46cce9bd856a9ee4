"""Writes tables of measurements in a page of the docs. A new row takes the place of the old one of the same network."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from sim.campaign.run import How, campaign
from sim.campaign.work import Lost, Work

RESULTS = Path(__file__).parents[1] / "docs" / "results"
PAGE, CYCLES, DRAM, PAPERS, COMPILATION, HARDWARE, MODEL, MEMORY, PROOF = (
    RESULTS / f"{name}.md"
    for name in ("networks", "cycles", "dram", "papers", "compilation", "hardware", "cycle-model", "memory", "proof")
)


def put_row(
    title: str, columns: Sequence[str], row: Sequence[str], keys: int, page: Path = PAGE, *, first_of_all: bool = False
) -> None:
    """Puts a row into the table below the heading ``title``. The first ``keys`` cells identify a row. ``first_of_all``: rows
    that are there are removed."""
    lines = page.read_text(encoding="utf-8").splitlines()
    start, end = _section(lines, title)
    first = next((i for i in range(start, end) if lines[i].startswith("|")), end)
    last = next((i for i in range(first, end) if not lines[i].startswith("|")), end)
    head = [_line(columns), "|" + "---|" * keys + "---:|" * (len(columns) - keys)]
    keeps = lines[first:last][:2] == head and not first_of_all
    kept = {tuple(_cells(line)[:keys]): line for line in lines[first + 2 : last]} if keeps else {}
    kept[tuple(row[:keys])] = _line(row)
    before = lines[:first] if first < end else "\n".join(lines[:first]).rstrip().splitlines()
    gap = [""] if first == end else []
    table = [*gap, *head, *(kept[key] for key in sorted(kept)), *(gap if end < len(lines) else [])]
    page.write_text("\n".join([*before, *table, *lines[last:]]) + "\n", encoding="utf-8")


def put_rows(
    work: Work, items: Sequence[Any], how: How, title: str, columns: Sequence[str], keys: int, page: Path | None = PAGE
) -> list[list[str]]:
    """Prints the row that ``work`` makes of each item and puts it into the page (if any), as soon as it is its turn.

    An item without a row is told in the end, as the script's error.
    """
    lost, rows = [], []
    print(" | ".join(columns))
    with campaign(work, items, how, {"table": title, "items": [str(item) for item in items]}) as results:
        for item, row in zip(items, results, strict=True):
            if isinstance(row, Lost):
                lost.append(f"{item}: {row.reason}")
                continue
            print(" | ".join(row), flush=True)
            if page is not None:
                put_row(title, columns, row, keys, page)
            rows.append(row)
    if lost:
        raise SystemExit("\n".join(lost))
    return rows


def put_text(title: str, text: str, page: Path = PAGE) -> None:
    """Puts a text behind the table below the heading."""
    lines = page.read_text(encoding="utf-8").splitlines()
    start, end = _section(lines, title)
    last = max(i for i in range(start, end) if lines[i].startswith("|"))
    gap = [""] if end < len(lines) else []
    page.write_text("\n".join([*lines[: last + 1], "", text, *gap, *lines[end:]]) + "\n", encoding="utf-8")


def text_of(title: str, page: Path = PAGE) -> str:
    """The text behind the table below the heading."""
    lines = page.read_text(encoding="utf-8").splitlines()
    start, end = _section(lines, title)
    last = max(i for i in range(start, end) if lines[i].startswith("|"))
    return "\n".join(lines[last + 1 : end]).strip()


def rows_of(title: str, page: Path = PAGE) -> list[dict[str, str]]:
    """The rows of the table below the heading, by column."""
    lines = page.read_text(encoding="utf-8").splitlines()
    start, end = _section(lines, title)
    table = [_cells(line) for line in lines[start:end] if line.startswith("|")]
    return [dict(zip(table[0], row, strict=True)) for row in table[2:]]


def _section(lines: Sequence[str], title: str) -> tuple[int, int]:
    """The lines from a heading to the next."""
    start = lines.index(f"## {title}")
    return start, next((i for i in range(start + 1, len(lines)) if lines[i].startswith("## ")), len(lines))


def _line(cells: Sequence[str]) -> str:
    return "| " + " | ".join(cells) + " |"


def _cells(line: str) -> list[str]:
    return [cell.strip() for cell in line.strip().strip("|").split("|")]
