"""Nothing stops a compilation because of a layer: what a configuration cannot compute goes to the CPU, with the reason."""

from __future__ import annotations

from compiler.frontend.pipeline import ImportedModel, without
from compiler.layers.fit import FitError
from compiler.planning.grouping import make_group
from compiler.planning.objective import CYCLES, Objective
from compiler.planning.planner import plan_group
from compiler.search.cost import Costs, Evaluator
from compiler.search.database import Database
from compiler.xgraph.ops import Op
from isa.config import MachineConfig


def fitted(
    imported: ImportedModel, config: MachineConfig, objective: Objective = CYCLES, database: Database | None = None
) -> tuple[ImportedModel, Costs]:
    """The model as the configuration can have it: every operation that is left fits on chip by itself.

    What goes to the CPU changes what is left: its neighbours may no longer be worth bringing, or be made in another way.
    With it come the costs of its operations by their shape.
    """
    while True:
        evaluator = Evaluator(config, imported.graph, database)
        misfits = [op for n, op in enumerate(evaluator.sets.ops) if evaluator.cost_of(1 << n, objective) is None]
        if not misfits:
            return imported, evaluator.known
        imported = without(imported, {_origin(imported, op): _why(config, imported, op) for op in misfits})


def _origin(imported: ImportedModel, op: Op) -> str:
    """The node that asked for an operation, or, for a copy, whose operation reads it."""
    graph = imported.graph
    while op.name not in imported.origins:
        op = graph.consumers(op.output)[0]
    return imported.origins[op.name]


def _why(config: MachineConfig, imported: ImportedModel, op: Op) -> str:
    try:
        plan_group(config, make_group(config, imported.graph, [op]))
    except FitError as error:
        return error.reason
    raise AssertionError(op.name)
