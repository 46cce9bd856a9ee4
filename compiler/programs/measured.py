"""DNNVM's other evaluators (section 5.1): each group's cycles are measured on its own, instead of told by the planner's walk.

The plan of a group is that of the planner; only what it takes is asked of the cycle model, or of the hardware. Any strategy can
be asked to choose by it (``Evaluator.measure``). Such costs are not kept between compilations.
"""

from __future__ import annotations

from compiler.programs.timing import program_cycles
from compiler.search.cost import Measure
from isa.config import MachineConfig


def on_cycle_model(config: MachineConfig) -> Measure:
    return lambda graph, plan: program_cycles(config, graph, [plan])
