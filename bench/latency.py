"""What DRAM's latency costs, and how many reads must be on their way to hold it:
``python -m bench.latency [--config base] [--latency 64 200 400] [--ahead 128 512] [network ...]``.

Whole networks on the RTL, of which the machine asks for so many beats of a read engine at a time (``axi_read_ahead``; with
another number than the configuration's the DRAM takes 64 bursts at a time, not 16). A configuration is a preset or a TOML
file. Utilisation is MACs of convolutions and dense layers over cycles times the MACs of the array. Rows go into
docs/results/hardware.md.
"""

from __future__ import annotations

import sys
from dataclasses import replace
from functools import lru_cache

from bench.command import command
from bench.figures import listed, number
from bench.network_table import HARDWARE as PAGE
from bench.network_table import put_rows, put_text, rows_of
from bench.networks import imported, known, sources, utilisation
from compiler.driver import Compiled, compile_graph
from isa.config import MachineConfig, load_config
from sim.campaign.arguments import add_arguments, how_of
from sim.rtl.machine import RtlMachine
from sim.rtl.memory import DRAM_BURSTS, Dram
from sim.runtime.engine import FunctionalEngine, RtlEngine
from sim.runtime.run import Run
from tilewright.inputs import random_inputs

TITLE = "Latency of DRAM"
COLUMNS = ("network", "configuration", "strategy", "beats on the way", "latency", "bytes that differ", "cycles", "utilisation")
MOST_BURSTS = 64
NETWORKS = ("mobilenet_v2", "resnet50")


@lru_cache(maxsize=1)
def compiled(name: str, config: MachineConfig, strategy: str) -> Compiled:
    return compile_graph(imported(sources()[name]()), config, strategy=strategy)


@lru_cache(maxsize=1)
def machine(config: MachineConfig, ahead: int) -> RtlMachine:
    bursts = DRAM_BURSTS if ahead == config.axi_read_ahead else MOST_BURSTS
    return RtlMachine(replace(config, axi_read_ahead=ahead), bursts=bursts)


def row_of(item: tuple[str, str, str, int, int]) -> list[str]:
    name, config_name, strategy, ahead, latency = item
    config = load_config(config_name)
    found = compiled(name, config, strategy)
    inputs = random_inputs(found.program)
    engine = RtlEngine(config, machine=machine(config, ahead), dram=Dram(latency))
    functional, rtl = Run(found.program, FunctionalEngine(config)), Run(found.program, engine)
    functional(inputs)
    rtl(inputs)
    differ = int((functional.image.memory != rtl.image.memory).sum())
    cycles = rtl.measured.counted_cycles
    return [*map(str, (name, config.name, strategy, ahead, latency, differ, cycles)), f"{utilisation(found, cycles):.3f}"]


def told() -> str:
    """The sentences about what each latency costs beside the least one of the table."""
    rows = rows_of(TITLE, PAGE)
    keys = ("network", "configuration", "beats on the way", "latency")
    cycles = {tuple(row[key] for key in keys): number(row["cycles"]) for row in rows}
    lines = ["How many more cycles a program takes than at the least latency of the table:", ""]
    for ahead in sorted({row["beats on the way"] for row in rows}, key=int):
        latencies = sorted({row["latency"] for row in rows if row["beats on the way"] == ahead}, key=int)
        for latency in latencies[1:]:
            more = [
                f"{name} on `{config}` {100 * (cycles[name, config, ahead, latency] / least - 1):.1f} %"
                for (name, config, beats, first), least in cycles.items()
                if (beats, first) == (ahead, latencies[0]) and (name, config, ahead, latency) in cycles
            ]
            lines.append(f"- {ahead} beats on the way, {latency} cycles: {listed(more)}.")
    return "\n".join(lines)


def main(arguments: list[str]) -> int:
    parser = command("latency", __doc__)
    parser.add_argument("networks", nargs="*")
    parser.add_argument("--config", default="base")
    parser.add_argument("--strategy", default="best")
    parser.add_argument("--latency", type=int, nargs="+", default=[64, 200, 400])
    parser.add_argument("--ahead", type=int, nargs="+", default=[MachineConfig.axi_read_ahead, 512])
    add_arguments(parser)
    chosen = parser.parse_args(arguments)
    wanted = known(chosen.networks, sources(), parser) or [*NETWORKS]
    items = [
        (name, chosen.config, chosen.strategy, ahead, latency)
        for ahead in chosen.ahead for name in wanted for latency in chosen.latency
    ]  # fmt: skip
    rows = put_rows(row_of, items, how_of(chosen), TITLE, COLUMNS, 5, PAGE)
    put_text(TITLE, told(), PAGE)
    return int(any(int(row[COLUMNS.index("bytes that differ")]) for row in rows))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
