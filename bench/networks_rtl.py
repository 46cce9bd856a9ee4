"""Whole networks on the generated Verilog: ``python -m bench.networks_rtl [--best] [--config base] [network ...]``.

For each network: bytes of memory that are not the functional simulator's, cycles from start to done, utilisation (MACs
of convolutions and dense layers over cycles times the MACs of the array), megabytes of the beats that passed between DRAM
and chip, how far the cycle model's estimate is off, and where the cycles of each unit go, as the machine's counters say.
Rows go into docs/results/networks.md.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Mapping, Sequence

from bench.command import command
from bench.figures import listed, number, paragraph
from bench.network_table import put_rows, put_text, rows_of
from bench.networks import imported, known, sources, utilisation
from compiler.driver import compile_graph
from compiler.zoo.exports import exports
from isa.capabilities import built_units
from isa.config import PRESETS, MachineConfig, preset
from isa.instructions import Unit
from isa.program import Program
from isa.registers import Counter
from sim.campaign.arguments import add_arguments, how_of
from sim.rtl.memory import Dram
from sim.runtime.engine import FunctionalEngine, Measured, RtlEngine
from sim.runtime.run import Run
from tilewright.inputs import random_inputs
from tilewright.running import estimated_cycles

LARGE = (
    "digits", "resnet8_int8_qdq", "vww_mobilenet_int8_qdq", "kws_dscnn_int8_qdq", "squeezenet", "mobilenet_v2", "resnet50",
    "resnet50_v1", "googlenet", "vgg16_convolutions",
)  # fmt: skip
TITLE = "RTL"
UNITS = [unit for unit in Unit if any(unit in built_units(config) for config in PRESETS.values())]
COLUMNS = (
    "network", "configuration", "groups", "bytes that differ", "cycles", "utilisation", "DRAM MB read", "written",
    "model off by", "RTL s",
    *(f"{unit.name} active / token / bank / DRAM" for unit in UNITS),
)  # fmt: skip


SHORT = 100_000
"""The cycles below which a wait that the cycle model does not see is a percent."""


def shares(measured: Measured, unit: Unit) -> str:
    """The percent of all cycles in which a unit is at work, and waits for a token, a bank, and DRAM."""
    counters = measured.counters[unit]
    shown = (Counter.ACTIVE, Counter.WAIT_TOKEN, Counter.WAIT_BANK, Counter.WAIT_DRAM)
    return " / ".join(f"{100 * counters[counter] / measured.counted_cycles:.0f}" for counter in shown)


def on_both(program: Program, config: MachineConfig, dram: Dram | None = None) -> tuple[int, Measured, float]:
    """The bytes of memory that differ from the functional simulator's, the counts of the machine, and its seconds."""
    inputs = random_inputs(program)
    engine = RtlEngine(config, dram=dram)
    functional, rtl = Run(program, FunctionalEngine(config)), Run(program, engine)
    engine.machine.build(rtl.image.memory.size + 4 * len(program.words))
    functional(inputs)
    since = time.perf_counter()
    rtl(inputs)
    seconds = time.perf_counter() - since
    return int((functional.image.memory != rtl.image.memory).sum()), rtl.measured, seconds


def row_of(item: tuple[str, str, str]) -> list[str]:
    """The row of a network, a configuration and a strategy."""
    name, config_name, strategy = item
    config = preset(config_name)
    compiled = compile_graph(imported({**exports(), **sources()}[name]()), config, strategy=strategy)
    program = compiled.program
    differ, measured, seconds = on_both(program, config)
    cycles = measured.counted_cycles
    return [
        name, config.name, strategy, str(differ), str(cycles), f"{utilisation(compiled, cycles):.3f}",
        *(f"{beats * config.axi_bytes / 1e6:.3f}" for beats in (measured.read_beats, measured.write_beats)),
        f"{100 * (estimated_cycles(program) / cycles - 1):+.2f} %", f"{seconds:.0f}",
        *(shares(measured, unit) for unit in UNITS),
    ]  # fmt: skip


def told() -> str:
    """The sentences about bytes that differ, the cycle model's worst errors, and what the groups of the search move."""
    return summary(rows_of(TITLE))


def summary(rows: Sequence[Mapping[str, str]]) -> str:
    differ = [_named(row) for row in rows if row["bytes that differ"] != "0"]
    long = [row for row in rows if number(row["cycles"]) >= SHORT]
    short = [row for row in rows if number(row["cycles"]) < SHORT]
    plain = {_named(row): _moved(row) for row in rows if row["groups"] == "naive"}
    shares = {
        _named(row): 100 * _moved(row) / plain[_named(row)] for row in rows if row["groups"] == "best" and _named(row) in plain
    }
    text = [f"Programs of which a byte differs, of {len(rows)}: {listed(differ)}."]
    for what, among in ((f"{SHORT:,} cycles and more", long), ("fewer", short)):
        if among:
            worst = max(among, key=_off)
            text.append(f"In those of {what} the cycle model is off by at most {_off(worst):.2f} % ({_named(worst)}).")
    if shares:
        least, most = min(shares, key=shares.__getitem__), max(shares, key=shares.__getitem__)
        text.append(
            f"With the groups of the search a network moves {shares[least]:.0f} % ({least}) to {shares[most]:.0f} % ({most}) "
            "of the bytes that it moves with one operation per group."
        )
    return paragraph(*text)


def _off(row: Mapping[str, str]) -> float:
    return abs(number(row["model off by"]))


def _named(row: Mapping[str, str]) -> str:
    return f"{row['network']} on `{row['configuration']}`"


def _moved(row: Mapping[str, str]) -> float:
    return number(row["DRAM MB read"]) + number(row["written"])


def main(arguments: list[str]) -> int:
    parser = command("networks_rtl", __doc__)
    parser.add_argument("networks", nargs="*")
    parser.add_argument("--config", default="base")
    parser.add_argument("--best", action="store_true", help="groups of the search, not one operation per group")
    add_arguments(parser)
    options = parser.parse_args(arguments)
    every = {**exports(), **sources()}
    wanted = known(options.networks, every, parser) or [name for name in LARGE if name in every]
    items = [(name, options.config, "best" if options.best else "naive") for name in wanted]
    rows = put_rows(row_of, items, how_of(options), TITLE, COLUMNS, 3)
    put_text(TITLE, told())
    return int(any(int(row[COLUMNS.index("bytes that differ")]) for row in rows))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
