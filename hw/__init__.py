"""The machine in Amaranth, one unit per file, and its Verilog. ``Core`` is imported when it is asked for, as a design does."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from hw.core import Core as Core


def __getattr__(name: str) -> Any:
    if name == "Core":
        from hw.core import Core

        return Core
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
