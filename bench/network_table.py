"""Tables of measurements in a page of the docs: a new row takes the place of the old one of the same network."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

PAGE = Path(__file__).parents[1] / "docs" / "networks.md"


def put_row(title: str, columns: Sequence[str], row: Sequence[str], keys: int, page: Path = PAGE) -> None:
    """Into the table below the heading ``title``; the first ``keys`` cells are what identifies a row."""
    lines = page.read_text(encoding="utf-8").splitlines()
    start = lines.index(f"## {title}")
    end = next((i for i in range(start + 1, len(lines)) if lines[i].startswith("## ")), len(lines))
    first = next((i for i in range(start, end) if lines[i].startswith("|")), end)
    last = next((i for i in range(first, end) if not lines[i].startswith("|")), end)
    head = [_line(columns), "|" + "---|" * keys + "---:|" * (len(columns) - keys)]
    kept = {tuple(_cells(line)[:keys]): line for line in lines[first + 2 : last]} if lines[first:last][:2] == head else {}
    kept[tuple(row[:keys])] = _line(row)
    before = lines[:first] if first < end else "\n".join(lines[:first]).rstrip().splitlines()
    gap = [""] if first == end else []
    table = [*gap, *head, *(kept[key] for key in sorted(kept)), *(gap if end < len(lines) else [])]
    page.write_text("\n".join([*before, *table, *lines[last:]]) + "\n", encoding="utf-8")


def _line(cells: Sequence[str]) -> str:
    return "| " + " | ".join(cells) + " |"


def _cells(line: str) -> list[str]:
    return [cell.strip() for cell in line.strip().strip("|").split("|")]
