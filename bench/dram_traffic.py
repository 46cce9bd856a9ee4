"""DRAM traffic that is predicted, beside what the RTL counts.

``python -m bench.dram_traffic [--presets nano,base] [--groups 100]``

For random groups (those of ``bench.cycle_model_error``): bytes of the plan, by Optimus' cost model, beside bytes that the
instructions move, as the functional simulator counts them; beats that the cycle model expects, instruction fetch
included, beside the counters of the RTL. A row at an odd address takes one beat more than its bytes need, so that bytes
and beats are compared apart.
"""

from __future__ import annotations

import random
from dataclasses import dataclass

import numpy as np

from bench.command import command
from bench.cycle_model_error import random_graph
from compiler.emit.program import emit_program
from compiler.planning.grouping import one_each
from compiler.planning.plan import Plan
from compiler.planning.plan_partition import plans_of
from isa.config import preset
from isa.errors import TilewrightError
from sim.cycle.model import CycleModel
from sim.functional.machine import INSTRUCTION_FETCH, FunctionalMachine
from sim.rtl.machine import SMALLEST_MEMORY, RtlMachine
from tests.compiler.graphs import memory_of


@dataclass(frozen=True)
class Traffic:
    """The DRAM traffic of one program."""

    operations: int
    groups: int
    planned: int
    """The planned bytes, instructions not counted."""
    moved: int
    expected_beats: tuple[int, int]
    """The expected beats, read and written."""
    rtl_beats: tuple[int, int]


def measure(machine: RtlMachine, number: int, rng: random.Random) -> Traffic:
    config = machine.config
    graph = random_graph(rng, config, number)
    try:
        plans = plans_of(config, graph, [graph.ops])
    except TilewrightError:
        plans = plans_of(config, graph, one_each(graph))
    emitted = emit_program(config, graph, plans)
    memory, bases = memory_of(emitted, SMALLEST_MEMORY)
    result = FunctionalMachine(config).run(emitted.words, memory.copy(), bases)
    read = sum(count for kind, count in result.dram_read.items() if kind != INSTRUCTION_FETCH)
    model = CycleModel(config).run(emitted.words)
    rtl = machine.run(emitted.words, memory, bases)
    planned = sum(plan.cost.dram_bytes for plan in plans if isinstance(plan, Plan))
    return Traffic(
        len(graph.ops), len(plans), planned, read + sum(result.dram_written.values()),
        (model.read_beats, model.write_beats), (rtl.read_beats, rtl.write_beats),
    )  # fmt: skip


def main() -> None:
    parser = command("dram_traffic", __doc__)
    parser.add_argument("--presets", default="nano,base")
    parser.add_argument("--groups", type=int, default=100)
    arguments = parser.parse_args()
    for name in arguments.presets.split(","):
        machine = RtlMachine(preset(name))
        rng = random.Random(f"cycle model {name}")
        found = [measure(machine, number, rng) for number in range(arguments.groups)]
        share = np.array([sum(t.rtl_beats) * machine.config.axi_bytes / t.moved for t in found])
        groups, operations, moved = sum(t.groups for t in found), sum(t.operations for t in found), sum(t.moved for t in found)
        print(
            f"{name}: {len(found)} programs of {groups} groups, {operations} operations, {moved} bytes;"
            f" bytes as planned in {sum(t.planned == t.moved for t in found)},"
            f" beats as expected in {sum(t.expected_beats == t.rtl_beats for t in found)};"
            f" bytes of all beats over bytes moved: median {np.median(share):.3f}, at most {share.max():.3f}"
        )


if __name__ == "__main__":
    main()
