"""Nothing stops a compilation because of a layer: what a configuration cannot compute goes to the CPU, with the reason."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from compiler.frontend.pipeline import ImportedModel, without
from compiler.layers.fit import FitError
from compiler.passes.part_rows import PARTS
from compiler.passes.split_dilated import split_dilated
from compiler.planning.grouping import make_group
from compiler.planning.objective import CYCLES, Objective
from compiler.planning.plan_group import plan_group
from compiler.search.cost import Costs, Evaluator
from compiler.search.database import Database
from compiler.xgraph.ops import Op
from isa.config import MachineConfig


def fitted(
    imported: ImportedModel, config: MachineConfig, objective: Objective = CYCLES, database: Database | None = None
) -> tuple[ImportedModel, Costs]:
    """The model as the configuration can have it: every operation that is left fits on chip by itself.

    A convolution that dilates too far for its rows to lie on chip together is split into classes of rows. What goes to the
    CPU changes what is left: its neighbours may no longer be worth bringing, or be made in another way.
    With it come the costs of its operations by their shape.
    """
    while True:
        evaluator = Evaluator(config, imported.graph, database)
        misfits = [op for n, op in enumerate(evaluator.sets.ops) if evaluator.cost_of(1 << n, objective) is None]
        if not misfits:
            return imported, evaluator.known
        split = _split(imported, misfits)
        if split is not None:
            imported = split
            continue
        imported = without(imported, {_origin(imported, op): _why(config, imported, op) for op in misfits})


def _split(imported: ImportedModel, misfits: Sequence[Op]) -> ImportedModel | None:
    """With those split that can be; None if none can."""
    graph, origins = imported.graph, dict(imported.origins)
    for op in misfits:
        found = split_dilated(graph, op)
        if found is not None:
            before = {old.name for old in graph.ops}
            origins |= {part.name: _origin(imported, op) for part in found.ops if part.name not in before}
            graph = found
    return None if graph is imported.graph else replace(imported, graph=graph, origins=origins)


def _origin(imported: ImportedModel, op: Op) -> str:
    """The node that asked for an operation, or for that of which it is a part; for a copy, whose operation reads it."""
    graph = imported.graph
    while op.name not in imported.origins:
        whole = op.name.rpartition(PARTS)[0]
        if whole in imported.origins:
            return imported.origins[whole]
        op = graph.consumers(op.output)[0]
    return imported.origins[op.name]


def _why(config: MachineConfig, imported: ImportedModel, op: Op) -> str:
    try:
        plan_group(config, make_group(config, imported.graph, [op]))
    except FitError as error:
        return error.reason
    raise AssertionError(op.name)
