"""The machine as a core of FuseSoC: its list of files, for any tool that a target names."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from hw.delivery.style import Style
from isa.config import MachineConfig
from isa.version import HARDWARE_VERSION, ISA_VERSION

_CLOCKS = {"xdc": "xdc", "lpf": "LPF", "sdc": "SDC"}
"""FuseSoC's names for the types of files that hold the clock."""


def core_file(names: Iterable[str], config: MachineConfig, style: Style) -> str:
    """The text of ``NAME.core`` (CAPI 2) for these files, which lie beside it. Its version is that of the instruction set, then
    that of the registers."""
    return "\n".join(_lines(list(names), config, style)) + "\n"


def _lines(names: list[str], config: MachineConfig, style: Style) -> Iterator[str]:
    sources = [name for name in names if name.endswith(f".{style.suffix}")]
    clocks = [name for name in names if name.rpartition(".")[2] in _CLOCKS]
    yield "CAPI=2:"
    yield f"name: tilewright:ip:{style.top}:{ISA_VERSION}.{HARDWARE_VERSION}.0"
    description = f"CNN accelerator, {config.ic_p} x {config.oc_p} x {config.px_p} products per cycle, {config.hash:#010x}"
    yield f'description: "{description}"'
    yield "filesets:"
    yield "  rtl:"
    yield f"    files: [{', '.join(sources)}]"
    yield f"    file_type: {'verilogSource' if style.initial else 'systemVerilogSource'}"
    yield "  waivers:"
    yield f"    files: [{style.top}.vlt]"
    yield "    file_type: vlt"
    for name in clocks:
        yield "  clock:"
        yield f"    files: [{name}]"
        yield f"    file_type: {_CLOCKS[name.rpartition('.')[2]]}"
    yield "targets:"
    yield "  default: &default"
    yield "    filesets: [rtl]"
    yield f"    toplevel: {style.top}"
    yield "  lint:"
    yield "    <<: *default"
    yield "    filesets: [waivers, rtl]"
    yield "    flow: lint"
    yield "    flow_options:"
    yield "      tool: verilator"
    yield "      verilator_options: [-Wall]"
    if clocks:
        yield "  alone:"
        yield "    <<: *default"
        yield "    description: the machine by itself, with its clock"
        yield "    filesets: [rtl, clock]"
