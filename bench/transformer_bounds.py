"""What bounds transformers and hybrids: ``python -m bench.transformer_bounds [NETWORK ...]``.

Cycles in which each unit is at work and beats of DRAM, by the cycle model. Units work side by side, so that no order of
instructions ends before the one that works longest: *at most* is the utilisation that this leaves. Rows go into
docs/results/cycles.md.
"""

from __future__ import annotations

import warnings
from collections import Counter as Sums
from dataclasses import replace

from bench.command import command
from bench.network_table import CYCLES, put_row
from bench.transformers import NETWORKS
from compiler.zoo.macs import by_node
from isa.config import preset
from isa.instructions import Unit
from isa.program import Program
from isa.registers import Counter
from tilewright.compiling import compile_model
from tilewright.profile.activity import runs

TITLE = "What bounds transformers"
UNITS = (Unit.CONV, Unit.POOL, Unit.MISC, Unit.ROW)
BEATS = "DRAM beats"
COLUMNS = ("network", "configuration", "cycles", *(unit.name for unit in UNITS), BEATS, "most", "utilisation", "at most")
SHORT = ("efficientvit_b0", "efficientvit_m0", "levit_128s", "swin_tiny")
"""The networks below a utilisation of 0.60."""


def work(program: Program) -> tuple[int, Sums[str]]:
    """The cycles in all, and those of each unit, with the beats."""
    cycles, found = 0, Sums[str]()
    for _, result in runs(program):
        cycles += result.cycles
        found[BEATS] += result.read_beats + result.write_beats
        for unit in UNITS:
            found[unit.name] += result.counters[unit][Counter.ACTIVE]
    return cycles, found


def main() -> None:
    parser = command("transformer_bounds", __doc__)
    parser.add_argument("networks", nargs="*", default=[*SHORT])
    parser.add_argument("--config", default="base")
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")
    machine = replace(preset(arguments.config), build_rows=True, build_products=True)
    print(" | ".join(COLUMNS))
    for network in arguments.networks:
        model = NETWORKS[network]()
        bound = sum(by_node(model).values()) / machine.macs_per_cycle
        cycles, found = work(compile_model(model, machine, cache=False).program)
        most, longest = found.most_common(1)[0]
        row = [
            network, arguments.config, f"{cycles:,}", *(f"{found[name]:,}" for name in COLUMNS[3:7]), f"{found[BEATS]:,}", most,
            f"{bound / cycles:.3f}", f"{bound / longest:.3f}",
        ]  # fmt: skip
        print(" | ".join(row), flush=True)
        put_row(TITLE, COLUMNS, row, 2, CYCLES)


if __name__ == "__main__":
    main()
