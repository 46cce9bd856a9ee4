"""Figures from the cells of a table, as sentences give them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from statistics import median
from textwrap import fill

ASKED = 17.0
"""The least percent that Optimus is below DNNVM, by its paper."""


def number(cell: str) -> float:
    """The first figure of a cell: for ``3,669,107, 258.8`` the cycles, for ``-2.57 %`` the percent."""
    return float(cell.split(", ")[0].rstrip(" %").replace(",", ""))


def below(low: Iterable[str], high: Iterable[str]) -> list[float]:
    """By how many percent each figure is below the other."""
    return [100 * (1 - number(one) / number(other)) for one, other in zip(low, high, strict=True)]


def spread(found: Sequence[float], places: int = 1) -> str:
    """The range and the median of percents."""
    return f"{min(found):.{places}f}% to {max(found):.{places}f}%, median {median(found):.{places}f}%"


def told(what: str, found: Sequence[float]) -> str:
    """A line about all rows of a comparison."""
    return f"- {what}: {spread(found)}; at least {ASKED:.0f}% in {sum(value >= ASKED for value in found)} of {len(found)} rows."


def listed(names: Sequence[str]) -> str:
    """The names in a list: ``a``, ``a and b``, ``a, b and c``; ``none`` without any."""
    return " and ".join(filter(None, (", ".join(names[:-1]), names[-1]))) if names else "none"


def paragraph(*sentences: str) -> str:
    """The sentences in lines as wide as those of the pages."""
    return fill(" ".join(sentences), 128, break_long_words=False, break_on_hyphens=False)
