"""Size on an FPGA: ``python -m bench.resources [preset ...]``; needs yosys on PATH.

LUT, FF, DSP and BRAM of ``yosys synth_xilinx -family xcup``, to be read beside DNNVM's table 5 (docs/performance.md).
Synthesis takes minutes to an hour for each preset.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from isa.config import PRESETS, MachineConfig, preset
from isa.errors import TilewrightError
from sim.rtl.build import core_verilog, run_tool

LUTS = dict.fromkeys(("LUT1", "LUT2", "LUT3", "LUT4", "LUT5", "LUT6"), 1)
MEMORY_LUTS = {
    "SRL16E": 1, "SRLC32E": 1, "RAM32X1D": 2, "RAM64X1D": 2, "RAM128X1D": 4, "RAM256X1D": 8, "RAM32M": 4, "RAM64M": 4,
    "RAM32M16": 8, "RAM64M8": 8, "RAM32X16DR8": 8, "RAM64X8SW": 8, "RAM32X1S": 1, "RAM64X1S": 1, "RAM128X1S": 2,
    "RAM256X1S": 4, "RAM512X1S": 8,
}  # fmt: skip
"""LUTs that one cell of distributed memory takes (Xilinx UG574)."""
CELLS = {
    "LUT": LUTS,
    "LUT as memory": MEMORY_LUTS,
    "FF": dict.fromkeys(("FDRE", "FDSE", "FDCE", "FDPE"), 1),
    "DSP": {"DSP48E2": 1},
}


def synthesise(config: MachineConfig) -> dict[str, float]:
    """Cells of each kind; block RAMs in units of 36 Kbit."""
    yosys = shutil.which("yosys")
    if yosys is None:
        raise TilewrightError("program yosys: not on PATH; install it, for example: apt install yosys")
    with tempfile.TemporaryDirectory() as name:
        work = Path(name)
        (work / "core.v").write_text(core_verilog(config))
        script = "read_verilog core.v; synth_xilinx -family xcup -top tilewright_core -flatten; tee -q -o stat.json stat -json"
        run_tool([yosys, "-q", "-p", script], cwd=work, env=None, what="yosys")
        cells = json.loads((work / "stat.json").read_text())["design"]["num_cells_by_type"]
    result = {kind: float(sum(cells.get(cell, 0) * weight for cell, weight in names.items())) for kind, names in CELLS.items()}
    result["BRAM"] = cells.get("RAMB36E2", 0) + cells.get("RAMB18E2", 0) / 2
    return result


def main(names: list[str]) -> None:
    print(f"{'preset':8} {'MAC/cycle':>9} {'LUT':>8} {'of them memory':>14} {'FF':>8} {'DSP':>6} {'BRAM':>6} {'seconds':>8}")
    for name in names or list(PRESETS):
        config = preset(name)
        start = time.monotonic()
        try:
            used = synthesise(config)
        except subprocess.SubprocessError as error:
            raise TilewrightError(f"synthesis of {name}: {error}") from None
        memory = used["LUT as memory"]
        row = f"{used['LUT'] + memory:8.0f} {memory:14.0f} {used['FF']:8.0f} {used['DSP']:6.0f} {used['BRAM']:6.1f}"
        print(f"{name:8} {config.macs_per_cycle:9} {row} {time.monotonic() - start:8.0f}", flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
