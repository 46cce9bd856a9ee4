"""Moves the operations that a configuration cannot compute to the CPU, with the reason. So no layer stops a compilation."""

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
    """Returns the model with only such machine operations as fit on chip by themselves, and their costs by shape.

    A convolution that dilates too far for its rows to lie on chip together is split into classes of rows. Other misfits go to
    the CPU. That changes what is left, so the search for misfits is repeated: neighbours may no longer be worth bringing to the
    machine, or may be made in another way.
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
    """The model with those misfits split that can be. None: none can be split."""
    graph, origins = imported.graph, dict(imported.origins)
    for op in misfits:
        found = split_dilated(graph, op)
        if found is not None:
            before = {old.name for old in graph.ops}
            origins |= {part.name: _origin(imported, op) for part in found.ops if part.name not in before}
            graph = found
    return None if graph is imported.graph else replace(imported, graph=graph, origins=origins)


def _origin(imported: ImportedModel, op: Op) -> str:
    """The node that an operation comes from.

    The origin of a part is that of the whole operation. The origin of a copy is that of its reader.
    """
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
