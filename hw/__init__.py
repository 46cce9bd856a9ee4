"""The machine in Amaranth, one unit per file, and its Verilog. Only an access to ``Core`` imports it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from hw.core import Core as Core


def __getattr__(name: str) -> Any:
    if name == "Core":
        from hw.core import Core

        return Core
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
