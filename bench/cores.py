"""Batches on several machines of one chip:
``python -m bench.cores [--cores 1 2] [--share] [--ports 2] [--images 1] [--effort quick] [network ...]``.

Two ``zu9``, each with as many ports as told, on the DRAM of a ZCU102 (19.2 GB/s together, 150 cycles of latency) at 330 MHz, by
the RTL of both; of one core the other is idle. For each network and number of cores: output bytes that are not the functional
simulator's, cycles of the batch, images in a second, how much faster than one core, how far the cycle model is off, and DPU's
three cores beside it. ``--images``: of each core. ``--share``: both cores share one image, of a program for both. Rows go into
docs/results/hardware.md.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import lru_cache

import numpy as np

from bench.command import command
from bench.figures import number
from bench.network_table import HARDWARE as PAGE
from bench.network_table import put_row, rows_of
from bench.networks import imported, known, sources
from compiler.driver import compile_graph
from isa.config import MachineConfig, preset
from isa.cores import dram_bytes
from isa.program import Program
from sim.cycle.cores import batch_cycles, shared_cycles
from sim.rtl.memory import Dram
from sim.runtime.batch import Batch, BatchProgress, run_batch
from sim.runtime.chip import shared_chip, simulated_chip
from sim.runtime.engine import FunctionalEngine
from sim.runtime.run import Run
from sim.runtime.together import run_together
from tilewright.inputs import Array, random_inputs

TITLE = "Several cores"
NETWORKS = ("mobilenet_v2", "resnet50")
DPU = {"resnet50": "155.5", "mobilenet_v2": "581"}
"""The published images in a second of DPU's three B4096 on a ZCU102."""
CHIP_CORES, LATENCY = 2, 150
COLUMNS = (
    "network", "effort", "ports of each", "cores", "images", "output bytes that differ", "cycles", "images/s", "of one core",
    "cycle model off by", "DPU, three cores",
)  # fmt: skip


SHARED = f"{CHIP_CORES}, one image"
"""The number of cores in the table, for cores that share one image."""


@lru_cache(maxsize=2)
def compiled(name: str, config: MachineConfig, effort: str, cores: int = 1) -> Program:
    """The program of a network. ``cores``: the cores that share each image."""
    return compile_graph(imported(sources()[name]()), config, effort=effort, cores=cores).program


def machine(ports: int) -> MachineConfig:
    """``zu9`` with so many ports of 128 bits, on the memory of the bench."""
    zu9 = replace(preset("zu9"), dram_latency=LATENCY)
    if ports == zu9.axi_ports:
        return zu9
    return replace(zu9, name="zu9_two_ports", axi_ports=ports, axi_data_bits=ports * zu9.axi_port_bits)


def row_of(name: str, effort: str, ports: int, cores: int, images: int) -> list[str]:
    config = machine(ports)
    program, shared = compiled(name, config, effort), dram_bytes(config)
    feeds = [random_inputs(program, seed) for seed in range(images * cores)]
    with simulated_chip(program, CHIP_CORES, dram=Dram(config.dram_latency, total=shared), used=cores) as chip:
        batch = run_batch(program, chip, feeds, _progress(time.monotonic()))
    model = batch_cycles(program, len(feeds), cores, shared)
    return _row([name, effort, str(ports), str(cores)], program, feeds, batch, model)


def shared_row(name: str, effort: str, ports: int) -> list[str]:
    """The row of one image on all cores."""
    config = machine(ports)
    program, shared = compiled(name, config, effort, CHIP_CORES), dram_bytes(config)
    feeds = [random_inputs(program)]
    with shared_chip(program, dram=Dram(LATENCY, total=shared)) as (chip, memory):
        batch = run_together(program, chip, memory, feeds, _progress(time.monotonic()))
    alone = compiled(name, config, effort)
    return _row([name, effort, str(ports), SHARED], alone, feeds, batch, shared_cycles(program, shared))


def _row(key: list[str], program: Program, feeds: Sequence[Mapping[str, Array]], batch: Batch, model: int) -> list[str]:
    """A row. ``key``: its first columns; ``program``: for one core, whose results are right; ``model``: the cycles by the cycle
    model."""
    differ = 0
    for feed, made in zip(feeds, batch.outputs, strict=True):
        expected = Run(program, FunctionalEngine(program.config))(feed)
        differ += sum(int((expected[name].view(np.uint8) != made[name].view(np.uint8)).sum()) for name in expected)
    rate = batch.per_second(program.config.clock_mhz)
    scaling = "-" if key[-1] == "1" else _scaling([*key[:-1], "1"], rate)
    return [
        *key, str(len(feeds)), str(differ), f"{batch.cycles:,}", f"{rate:.1f}", scaling,
        f"{100 * (model / batch.cycles - 1):+.2f} %", DPU.get(key[0], "-"),
    ]  # fmt: skip


def _scaling(alone: list[str], rate: float) -> str:
    """The rate as a multiple of that of one core, if the page has a row of one core."""
    found = [row["images/s"] for row in rows_of(TITLE, PAGE) if [row[column] for column in COLUMNS[:4]] == alone]
    return f"{rate / number(found[0]):.2f}" if found else "-"


def _progress(since: float) -> BatchProgress:
    def told(done: int, cycles: int) -> None:
        print(f"\r{done} images, {cycles} cycles, {cycles / (time.monotonic() - since):.0f} cycles/s", end="", file=sys.stderr)

    return told


def main(arguments: list[str]) -> int:
    parser = command("cores", __doc__)
    parser.add_argument("networks", nargs="*")
    parser.add_argument("--cores", type=int, nargs="+", default=[1, CHIP_CORES], choices=range(1, CHIP_CORES + 1))
    parser.add_argument("--share", action="store_true")
    parser.add_argument("--ports", type=int, default=2, choices=(1, 2))
    parser.add_argument("--effort", default="quick", choices=("quick", "normal", "full"))
    parser.add_argument("--images", type=int, default=1)
    chosen = parser.parse_args(arguments)
    wrong = 0
    for name in known(chosen.networks, sources(), parser) or NETWORKS:
        for cores in (CHIP_CORES,) if chosen.share else chosen.cores:
            if chosen.share:
                row = shared_row(name, chosen.effort, chosen.ports)
            else:
                row = row_of(name, chosen.effort, chosen.ports, cores, chosen.images)
            print(" | ".join(row), flush=True)
            put_row(TITLE, COLUMNS, row, 4, PAGE)
            wrong += int(row[COLUMNS.index("output bytes that differ")])
    return int(wrong > 0)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
