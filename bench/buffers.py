"""Other buffers, in block RAMs and cycles: ``python -m bench.buffers [network ...] [--config zu2] [--with FIELD=VALUE,...]``.

One row for the preset, and one for each ``--with``, a list of fields that it has otherwise:
``--with fm_banks=12,fm_depth=1024,weight_depth=512 --with fm_banks=16``. Block RAMs and UltraRAMs are those of all memories
as yosys maps them, without the rest of the machine; cycles are those of whole programs on the cycle model, partitioned by
the strategy ``optimus``. Rows go into docs/results/hardware.md.
"""

from __future__ import annotations

import sys
from collections import Counter
from dataclasses import asdict

from bench.command import command
from bench.finishing_lanes import LISTED, cycle_cells
from bench.network_table import HARDWARE as PAGE
from bench.network_table import put_row
from isa.config import MachineConfig, config_from_dict, load_config
from sim.rtl.build import core_verilog
from sim.synthesis.design import Design, split_design
from sim.synthesis.mapping import map_modules
from sim.synthesis.targets import TARGETS
from sim.synthesis.tools import find_tool

COLUMNS = ("configuration", "changed", "BRAM36", *LISTED)


def block_rams(config: MachineConfig) -> float:
    """The block RAMs of all memories, each of which is mapped by itself."""
    target = TARGETS["xcup"]
    whole = split_design(core_verilog(config, dsp48e2=target.places_cascades(config)))
    memories = {name: module for name, module in whole.modules.items() if name.startswith("memory_")}
    times = whole.counts(whole.top)
    mapped = map_modules(Design(memories, ""), target, find_tool("yosys"), report=lambda line: print(line, file=sys.stderr))
    cells: Counter[str] = Counter()
    for name, found in mapped.items():
        cells.update({cell: times[name] * number for cell, number in found.cells.items()})
    return target.used(cells)["BRAM"]


def changed(config: MachineConfig, fields: str) -> MachineConfig:
    """The configuration with the fields of a text like ``fm_banks=12,fm_depth=1024``."""
    numbers = {name: int(value) for name, value in (field.split("=") for field in fields.split(","))}
    return config_from_dict({**asdict(config), **numbers}, origin="--with")


def main(given: list[str] | None = None) -> None:
    parser = command("buffers", __doc__)
    parser.add_argument("networks", nargs="*")
    parser.add_argument("--config", default="zu2")
    parser.add_argument("--with", dest="changes", action="append", default=[], metavar="FIELD=VALUE,...")
    arguments = parser.parse_intermixed_args(given)
    config = load_config(arguments.config)
    first: dict[str, int] = {}
    for fields in ("", *arguments.changes):
        machine = changed(config, fields) if fields else config
        changes = fields.replace(",", ", ")
        row = [config.name, changes, f"{block_rams(machine):.1f}", *cycle_cells(arguments.networks, machine, first)]
        put_row("Buffers", COLUMNS, row, 2, PAGE)
        print(" | ".join(row), flush=True)


if __name__ == "__main__":
    main()
