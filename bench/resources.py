"""Size on an FPGA: ``python -m bench.resources [preset ...] [--jobs N]``, beside DNNVM's table 5 and the chip of each preset.

What ``tilewright size --target xcup`` prints, as rows of docs/performance.md: ``yosys synth_xilinx``, module by module and
without flattening, so nothing is shared or optimised across modules. What was synthesised before comes from the cache;
the last column is what this run took.
"""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path

from bench.network_table import put_row
from isa.config import PRESETS, MachineConfig, preset
from sim.synthesis.size import size_of
from sim.synthesis.targets import TARGETS

TARGET = TARGETS["xcup"]
PAGE = Path(__file__).parents[1] / "docs" / "performance.md"
TITLE = "Size"
COLUMNS = ("design", "MAC/cycle", *TARGET.resources, "LUT per MAC", "yosys s")
DNNVM = (
    ["DNNVM on ZU2, table 5", "576", "21952", "-", "39597", "194", "117.5", "-", "38.1", "-"],
    ["DNNVM on ZU9, three cores, table 5", "6144", "117810", "-", "236970", "1542", "747.0", "-", "19.2", "-"],
)
"""Xing et al.: its block RAMs are of 18 Kbit, halved here."""


def row_of(config: MachineConfig, jobs: int) -> list[str]:
    start = time.monotonic()
    found = size_of(config, TARGET, report=lambda line: print(line, file=sys.stderr), jobs=jobs).total
    seconds = time.monotonic() - start
    counts = [f"{found[kind]:.1f}" if kind == "BRAM" else f"{found[kind]:.0f}" for kind in TARGET.resources]
    macs = config.macs_per_cycle
    return [f"`{config.name}`", str(macs), *counts, f"{found['LUT'] / macs:.1f}", f"{seconds:.0f}"]


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="bench.resources", description=__doc__)
    parser.add_argument("presets", nargs="*", default=list(PRESETS))
    parser.add_argument("--jobs", type=int, default=1, help="runs of yosys at a time")
    given = parser.parse_args(arguments)
    print(" | ".join(COLUMNS))
    for row in DNNVM:
        print(" | ".join(row))
        put_row(TITLE, COLUMNS, row, 1, PAGE)
    for name in given.presets:
        row = row_of(preset(name), given.jobs)
        print(" | ".join(row), flush=True)
        put_row(TITLE, COLUMNS, row, 1, PAGE)


if __name__ == "__main__":
    main()
