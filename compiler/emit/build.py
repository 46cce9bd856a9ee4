"""Makes a program of a partition."""

from __future__ import annotations

from collections.abc import Sequence

from compiler.emit.program import Emitted, emit_program
from compiler.planning.objective import CYCLES, Objective
from compiler.planning.plan_partition import plans_of
from compiler.xgraph.graph import XGraph
from compiler.xgraph.ops import Op
from isa.config import MachineConfig


def build(
    config: MachineConfig, graph: XGraph, partition: Sequence[Sequence[Op]], objective: Objective = CYCLES, bands: int = 1
) -> Emitted:
    return emit_program(config, graph, plans_of(config, graph, partition, objective, bands=bands))
