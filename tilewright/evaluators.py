"""The evaluators, which say how long a group takes when groups are chosen (DNNVM section 5.1), by name.

``analytic``: the planner's walk through its steps. ``cycle``: the cycle model, on the group's program. ``rtl``: the generated
Verilog, on the same program.
"""

from __future__ import annotations

import numpy as np

from compiler.emit.program import emit_program
from compiler.planning.plan import Plan
from compiler.programs.measured import on_cycle_model
from compiler.search.cost import Measure
from compiler.xgraph.graph import XGraph
from isa.config import MachineConfig
from isa.errors import TilewrightError
from isa.instructions import Region
from isa.names import nearest
from sim.rtl.machine import SMALLEST_MEMORY, RtlMachine

EVALUATORS = ("analytic", "cycle", "rtl")
PAGE = 4096
"""The bytes that each region begins at a multiple of."""


def measure_of(name: str, config: MachineConfig) -> Measure | None:
    """The measure of an evaluator; None if nothing is measured."""
    if name not in EVALUATORS:
        raise TilewrightError(f"evaluator {name!r}: unknown{nearest(name, EVALUATORS)}; known are {', '.join(EVALUATORS)}")
    if name == "analytic":
        return None
    return on_cycle_model(config) if name == "cycle" else on_rtl(config)


def on_rtl(config: MachineConfig) -> Measure:
    """A measure on the generated Verilog. Data is zero throughout: no instruction takes longer for other values."""
    machine = RtlMachine(config)

    def measure(graph: XGraph, plan: Plan) -> int:
        emitted = emit_program(config, graph, [plan])
        sizes = {
            Region.CONST: len(emitted.const), Region.WORK: emitted.work_bytes, Region.INPUT: emitted.input_bytes,
            Region.OUTPUT: emitted.output_bytes,
        }  # fmt: skip
        bases, past = {}, 0
        for region, size in sizes.items():
            bases[region], past = past, past + -(-size // PAGE) * PAGE
        memory = np.zeros(max(past, SMALLEST_MEMORY), np.uint8)
        memory[: len(emitted.const)] = np.frombuffer(emitted.const, np.uint8)
        return machine.run(emitted.words, memory, bases).cycles

    return measure
