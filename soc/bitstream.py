"""Makes a bitstream of the system's Verilog with the open tools: yosys, nextpnr-ecp5, ecppack."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from isa.program import Program
from sim.synthesis.global_lines import use_global_lines
from sim.synthesis.tools import find_tool
from soc.build import TOP
from soc.firmware import build_firmware, system_header
from tilewright.commands.place import PLACERS

ARCHITECTURES = {"LFE5U-25F": "--25k", "LFE5U-85F": "--85k"}
NEXTPNR_PACKAGE, SPEED = "CABGA381", "6"
BOARD_MHZ = 45
"""The clock of the system on the ULX3S, in MHz."""


@dataclass(frozen=True)
class Bitstream:
    """The bitstream of a system, and what the tools tell of it."""

    path: Path
    tools: str
    cells: dict[str, tuple[int, int]]
    """The cells used and available, by type."""
    clocks: dict[str, tuple[float, float]]
    """The MHz reached and asked, by clock."""


def write_sources(soc: Any, folder: Path, program: Program, images: NDArray[np.float32]) -> None:
    """Writes the Verilog, the pins (``system.lpf``) and yosys' script (``system.ys``), with the firmware in the ROM."""
    soc.finalize()
    words = build_firmware(folder / "firmware", system_header(soc), soc.mem_regions, soc.machine_config, program, images)
    soc.init_rom("rom", words)
    soc.platform.build(soc, build_dir=str(folder), build_name=TOP, run=False)


def make_bitstream(folder: Path, device: str, mhz: float, report: Callable[[str], None], seed: int = 1) -> Bitstream:
    """Synthesises, places, routes and packs what lies in ``folder``. Logs and nextpnr's report stay there."""
    yosys, nextpnr, ecppack = (find_tool(name) for name in ("yosys", "nextpnr-ecp5", "ecppack"))
    report(f"{yosys.version}: synthesis")
    yosys.run(["-q", f"{TOP}.ys"], folder)
    use_global_lines(folder / f"{TOP}.json")
    report(f"{nextpnr.version}: place and route")
    nextpnr.run([
        "--quiet", ARCHITECTURES[device], "--package", NEXTPNR_PACKAGE, "--speed", SPEED, "--json", f"{TOP}.json", "--lpf",
        f"{TOP}.lpf", "--textcfg", f"{TOP}.config", "--report", "report.json", "--freq", f"{mhz:g}", "--seed", str(seed),
        "--placer", PLACERS[0], "--timing-allow-fail", "--log", "nextpnr.log",
    ], folder)  # fmt: skip
    report("ecppack")
    ecppack.run(["--compress", f"{TOP}.config", "--bit", f"{TOP}.bit"], folder)
    return read_report(folder, f"{yosys.version}, {nextpnr.version}")


def read_report(folder: Path, tools: str) -> Bitstream:
    found = json.loads((folder / "report.json").read_text())
    cells = {name: (use["used"], use["available"]) for name, use in found["utilization"].items() if use["used"]}
    clocks = {re.sub(r"^\$glbnet\$", "", name): (c["achieved"], c["constraint"]) for name, c in found["fmax"].items()}
    return Bitstream(folder / f"{TOP}.bit", tools, cells, clocks)
