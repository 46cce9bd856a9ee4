"""A table of a paper, with our figures beside the paper's."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field


@dataclass(frozen=True)
class Table:
    title: str
    """Which of the paper, and what it compares."""
    columns: tuple[str, ...]
    rows: Iterable[tuple[str, ...]] = field(default=())
    """Made one after the other as they are measured."""
    note: str = ""
    """Why figures cannot agree, where they cannot."""

    def lines(self) -> Iterator[str]:
        """As Markdown."""
        yield f"## {self.title}\n"
        if self.note:
            yield f"{self.note}\n"
        yield "| " + " | ".join(self.columns) + " |"
        yield "|---" * len(self.columns) + "|"
        for row in self.rows:
            yield "| " + " | ".join(row) + " |"
        yield ""


NOT_IN = "-"
"""In place of a figure that the paper does not have."""
