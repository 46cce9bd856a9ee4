"""Reports of what a compilation is doing."""

from __future__ import annotations

from collections.abc import Callable

Progress = Callable[[str], None]
"""A function that is called with what is being done, as it begins."""


def unheard(doing: str) -> None:
    """Drops the report."""
