"""DNNVM's other evaluators (section 5.1): each group's cycles are measured on its own, instead of told by the planner's walk.

The plan of a group is that of the planner; only what it takes is asked of the cycle model, or of the hardware. Any strategy can
be asked to choose by it. Such costs are not kept between compilations.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from compiler.fusion.legal import Mask
from compiler.planning.objective import Cost, Objective
from compiler.planning.plan import Plan
from compiler.search.cost import Evaluator
from compiler.timing import program_cycles
from compiler.xgraph.graph import XGraph
from isa.config import MachineConfig

Measure = Callable[[XGraph, Plan], int]
"""Cycles of the program of one group, from start to done."""


@dataclass
class Measured(Evaluator):
    """Plans as ever; cycles as measured, bytes as planned, which are exact."""

    measure: Measure = field(kw_only=True)

    def _planned(self, mask: Mask, objective: Objective) -> Cost | None:
        self.evaluated += 1
        plan = self.plan(mask, objective)
        return None if plan is None else Cost(self.measure(self.graph, plan), plan.cost.dram_bytes)

    def _stored(self, mask: Mask, objective: Objective) -> Cost | None:
        return self._planned(mask, objective)


def on_cycle_model(config: MachineConfig) -> Measure:
    return lambda graph, plan: program_cycles(config, graph, [plan])
