"""The machine as a package for other people's tools: the files of ``tilewright verilog``, and the further files that a tool
needs."""

from __future__ import annotations

from collections.abc import Sequence

from hw.delivery.boards import DEFAULT_BOARDS, Board
from hw.delivery.files import arranged
from hw.delivery.ipxact import COMPONENT_FILE, component
from hw.delivery.litex import LITEX_FILE, litex_module
from hw.delivery.style import Style
from hw.delivery.vivado import scripts
from isa.config import MachineConfig

TOOLS = ("vivado", "fusesoc", "litex")


def has_dsp48e2(config: MachineConfig, tool: str, boards: Sequence[Board] = DEFAULT_BOARDS) -> bool:
    """True if the package's array is made of instances of DSP48E2. An UltraScale+ has these, and ``tilewright size`` measures
    them."""
    return tool == "vivado" and config.dsp_packing and boards[0].family == "xcup"


def package(text: str, config: MachineConfig, tool: str, boards: Sequence[Board] = DEFAULT_BOARDS) -> dict[str, str]:
    """The text of every file by its name, made from the Verilog that ``hw.emit`` wrote. That Verilog has DSP48E2 if the package
    ``has_dsp48e2``. Resets of Vivado's blocks are active low.

    Resets of Vivado's blocks are active low.
    """
    style = Style(active_low=tool == "vivado", dsp48e2=has_dsp48e2(config, tool, boards))
    found = arranged(text, config, style)
    if tool == "fusesoc":
        return found.files
    files = {name: found.files[name] for name in found.sources}
    if tool == "litex":
        return {**files, LITEX_FILE: litex_module(found.top, config, style, found.sources)}
    described = {COMPONENT_FILE: component(found.top, config, style, found.sources)}
    return {**files, **described, **scripts(found.top, config, style, found.sources, boards)}
