"""Size on an FPGA, beside DNNVM's table 5 and the chip of each preset: ``python -m bench.resources [preset ...] [--flat]``.

What ``tilewright size --target xcup`` prints, as rows of docs/results/hardware.md: ``yosys synth_xilinx``, module by module and
without flattening, so nothing is shared or optimised across modules; with ``--flat`` as one module. What was synthesised
before comes from the cache. ``--jobs N``: runs of yosys at a time.
"""

from __future__ import annotations

import sys

from bench.command import command
from bench.network_table import HARDWARE as PAGE
from bench.network_table import put_row, put_text, rows_of
from isa.chips import CHIPS
from isa.config import PRESETS, MachineConfig, preset
from sim.synthesis.size import size_of
from sim.synthesis.targets import TARGETS

TARGET = TARGETS["xcup"]
TITLE = "Size"
COLUMNS = ("design", "MAC/cycle", *TARGET.resources, "LUT per MAC")
DNNVM = (
    ["DNNVM on ZU2, table 5", "576", "21952", "-", "39597", "194", "117.5", "-", "38.1"],
    ["DNNVM on ZU9, three cores, table 5", "6144", "117810", "-", "236970", "1542", "747.0", "-", "19.2"],
)
"""The figures of Xing et al. Their block RAMs are of 18 Kbit, and are halved here."""


def row_of(config: MachineConfig, jobs: int, flat: bool) -> list[str]:
    found = size_of(config, TARGET, report=lambda line: print(line, file=sys.stderr), jobs=jobs, flat=flat).total
    counts = [f"{found[kind]:.1f}" if kind == "BRAM" else f"{found[kind]:.0f}" for kind in TARGET.resources]
    macs = config.macs_per_cycle
    return [f"`{config.name}`{', flattened' if flat else ''}", str(macs), *counts, f"{found['LUT'] / macs:.1f}"]


def text() -> str:
    """The sentences about the table."""
    rows = {row["design"]: row for row in rows_of(TITLE, PAGE)}
    beside = {"base": DNNVM[0], "zu2": DNNVM[0], "zu9": DNNVM[1]}
    told = ["DNNVM counts block RAMs of 18 Kbit (235 and 1494), halved here."]
    ratios = []
    for name, theirs in beside.items():
        if f"`{name}`" in rows:
            ratio = float(rows[f"`{name}`"]["LUT per MAC"]) / float(theirs[COLUMNS.index("LUT per MAC")])
            ratios.append(f"{ratio:.1f} times on `{name}`")
    told.append(f"For each multiplier ours takes of DNNVM's LUTs {', '.join(ratios)}; its lanes are exact for float32 scales.")
    for name, row in rows.items():
        config = PRESETS.get(name.strip("`"))
        if config is None or CHIPS[config.chip].family != TARGET.name:
            continue
        capacity = CHIPS[config.chip].capacity
        shares = {kind: config.chip_cores * float(row[kind]) / number for kind, number in capacity.items() if kind in row}
        cores = f"{config.chip_cores} times " if config.chip_cores > 1 else ""
        full = ", ".join(f"{share:.0%} of the {kind}" for kind, share in shares.items())
        lacking = [kind for kind, share in shares.items() if share > 1]
        fits = f"it does not fit for want of {' and '.join(lacking)}" if lacking else "it fits"
        told.append(f"On an {config.chip} {cores}{name} takes {full}: {fits}.")
    return " ".join(told)


def main(arguments: list[str] | None = None) -> None:
    parser = command("resources", __doc__)
    parser.add_argument("presets", nargs="*", default=list(PRESETS))
    parser.add_argument("--flat", action="store_true", help="as one module, optimised as a whole")
    parser.add_argument("--jobs", type=int, default=1, help="runs of yosys at a time")
    given = parser.parse_args(arguments)
    print(" | ".join(COLUMNS))
    for row in DNNVM:
        print(" | ".join(row))
        put_row(TITLE, COLUMNS, row, 1, PAGE)
    for name in given.presets:
        row = row_of(preset(name), given.jobs, given.flat)
        print(" | ".join(row), flush=True)
        put_row(TITLE, COLUMNS, row, 1, PAGE)
    put_text(TITLE, text(), PAGE)


if __name__ == "__main__":
    main()
