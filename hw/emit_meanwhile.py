"""Another attribute of one of Amaranth's classes, for as long as a netlist is made."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any


@contextmanager
def meanwhile(*attributes: tuple[type, str, Any]) -> Iterator[None]:
    """Each class, the attribute's name, and what it is until then; afterwards all are as they were."""
    before = [(owner, name, vars(owner)[name]) for owner, name, _ in attributes]
    for owner, name, value in attributes:
        setattr(owner, name, value)
    try:
        yield
    finally:
        for owner, name, value in before:
            setattr(owner, name, value)
