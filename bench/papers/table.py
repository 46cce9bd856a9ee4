"""A table of a paper, with our figures beside the paper's."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field


@dataclass(frozen=True)
class Table:
    title: str
    """The number of the table in the paper, and what it compares."""
    columns: tuple[str, ...]
    rows: Iterable[tuple[str, ...]] = field(default=())
    """The rows, which are made one after the other as they are measured."""
    note: str = ""
    """The reason why figures cannot agree, or empty."""

    def lines(self) -> Iterator[str]:
        """The lines of Markdown."""
        yield f"## {self.title}\n"
        if self.note:
            yield f"{self.note}\n"
        yield "| " + " | ".join(self.columns) + " |"
        yield "|---" * len(self.columns) + "|"
        for row in self.rows:
            yield "| " + " | ".join(row) + " |"
        yield ""


NOT_IN = "-"
"""The sign for a figure that the paper does not have."""
