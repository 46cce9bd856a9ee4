"""The face: command line and Python API. ``Session`` is imported when it is asked for: the command line starts at once."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tilewright.session import Session as Session


def __getattr__(name: str) -> Any:
    if name == "Session":
        from tilewright.session import Session

        return Session
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
