"""DNNVM's other evaluators (section 5.1), which measure the cycles of each group by itself instead of the planner's walk.

The planner still makes the plan of a group. The cycle model or the hardware tells only the cycles that it takes. Any strategy
can use such costs (``Evaluator.measure``). They are not kept between compilations.
"""

from __future__ import annotations

from compiler.programs.timing import program_cycles
from compiler.search.cost import Measure
from isa.config import MachineConfig


def on_cycle_model(config: MachineConfig) -> Measure:
    return lambda graph, plan: program_cycles(config, graph, [plan])
