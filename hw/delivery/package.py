"""The machine as a package for other people's tools: the files of ``tilewright verilog``, and what a tool needs beside."""

from __future__ import annotations

from dataclasses import replace

from hw.delivery.files import arranged
from hw.delivery.litex import LITEX_FILE, litex_module
from hw.delivery.style import Style
from isa.config import MachineConfig

TOOLS = ("vivado", "fusesoc", "litex")


def package(text: str, config: MachineConfig, tool: str) -> dict[str, str]:
    """Text of every file by its name, from the Verilog that ``hw.emit`` wrote."""
    style = style_for(tool)
    found = arranged(text, config, style)
    files = {name: found.files[name] for name in found.sources}
    if tool == "litex":
        return {**files, LITEX_FILE: litex_module(found.top, config, style, found.sources)}
    return found.files


def style_for(tool: str) -> Style:
    """What a tool asks of the Verilog: resets of Vivado's blocks are active low."""
    return replace(Style(), active_low=tool == "vivado")
