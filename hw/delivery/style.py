"""The form in which an integrator wants the Verilog."""

from __future__ import annotations

import re
from dataclasses import dataclass

from hw.delivery.keywords import KEYWORDS
from isa.errors import TilewrightError

MODULE = "tilewright_core"
"""The name of the outermost module, unless another is asked for."""
ACTIVE_HIGH, ACTIVE_LOW = "rst", "aresetn"


class StyleError(TilewrightError):
    """The Verilog cannot be written as it was asked for."""


@dataclass(frozen=True)
class Style:
    """The choices of an integrator. None of them changes a cycle."""

    top: str = MODULE
    """The name of the outermost module. The names of all others begin with it."""
    active_low: bool = False
    """The reset is ``aresetn``, active low, in place of ``rst``."""
    initial: bool = True
    """Registers and memories have a value before reset, as on FPGAs. Without these values the text is SystemVerilog."""
    split_memories: bool = False
    """Memories are in a file of their own."""
    dsp48e2: bool = False
    """See ``hw.emit``."""

    def __post_init__(self) -> None:
        if not re.fullmatch(r"[A-Za-z_]\w*", self.top, re.ASCII) or self.top in KEYWORDS:
            raise StyleError(
                f"name {self.top!r} of the outermost module: not a name in Verilog; use letters, digits and underscores, "
                "with a letter first, and no keyword"
            )

    @property
    def reset(self) -> str:
        """The name of the reset port."""
        return ACTIVE_LOW if self.active_low else ACTIVE_HIGH

    @property
    def suffix(self) -> str:
        return "v" if self.initial else "sv"

    @property
    def source(self) -> str:
        """The file that holds the outermost module."""
        return f"{self.top}.{self.suffix}"
