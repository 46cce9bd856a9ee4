"""Batches in one program: ``python -m bench.batches [--batch 1 2 4 8] [--ports 2] [--effort quick] [network ...]``.

The images of a program follow one another within each group, so parameters that stay on chip are loaded once for all. Dense
layers take the images as rows of one map. Two ``zu9``, each with as many ports as told, run a program each, on the DRAM of a
ZCU102 (19.2 GB/s together) at 330 MHz, by the cycle model (``sim/cycle/cores.py``): a bound. Rows go into
docs/results/hardware.md.
"""

from __future__ import annotations

from bench.command import command
from bench.cores import CHIP_CORES, machine
from bench.network_table import HARDWARE as PAGE
from bench.network_table import put_row
from bench.networks import known, sources
from compiler.driver import compile_graph
from compiler.frontend.pipeline import import_model
from isa.cores import dram_bytes
from isa.instructions import Region
from sim.cycle.cores import batch_cycles

TITLE = "Batches in one program"
NETWORKS = ("vgg16",)
BATCHES = (1, 2, 4, 8)
DPU = {"vgg16": "44.7"}
"""The published images in a second of DPU's three B4096 on a ZCU102."""
COLUMNS = (
    "network", "effort", "ports of each", "images of a program", "cycles of a program", "MB of DRAM for maps",
    f"images/s of {CHIP_CORES} cores", "DPU, three cores",
)  # fmt: skip


def row_of(name: str, effort: str, ports: int, batch: int) -> list[str]:
    config = machine(ports)
    program = compile_graph(import_model(sources()[name](), batch=batch), config, effort=effort).program
    cycles = batch_cycles(program, CHIP_CORES, CHIP_CORES, dram_bytes(config))
    rate = CHIP_CORES * batch * config.clock_mhz * 1e6 / cycles
    maps = sum(program.region_bytes(region) for region in (Region.WORK, Region.INPUT, Region.OUTPUT)) / 1e6
    return [name, effort, str(ports), str(batch), f"{cycles:,}", f"{maps:.1f}", f"{rate:.1f}", DPU.get(name, "-")]


def main() -> None:
    parser = command("batches", __doc__)
    parser.add_argument("networks", nargs="*")
    parser.add_argument("--batch", type=int, nargs="+", default=BATCHES)
    parser.add_argument("--ports", type=int, default=2, choices=(1, 2))
    parser.add_argument("--effort", default="quick", choices=("quick", "normal", "full"))
    chosen = parser.parse_args()
    for name in known(chosen.networks, sources(), parser) or NETWORKS:
        for batch in chosen.batch:
            row = row_of(name, chosen.effort, chosen.ports, batch)
            print(" | ".join(row), flush=True)
            put_row(TITLE, COLUMNS, row, 4, PAGE)


if __name__ == "__main__":
    main()
