"""Who is told what a compilation is doing."""

from __future__ import annotations

from collections.abc import Callable

Progress = Callable[[str], None]
"""Told what is being done, as it begins."""


def unheard(doing: str) -> None:
    """For nobody."""
