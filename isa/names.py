"""Suggests names for those that people get nearly right."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches


def nearest(name: str, known: Iterable[str]) -> str:
    """``, did you mean 'compile'?`` if a name is near, else empty. Capitals do not count."""
    spelt = {each.lower(): each for each in known}
    found = get_close_matches(name.lower(), spelt, n=1, cutoff=0.6)
    return f", did you mean {spelt[found[0]]!r}?" if found else ""
