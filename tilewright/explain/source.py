"""Makes a partitioned graph from a program file, or by a search from a model."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from compiler.driver import check_choices, frugal_steps, objective_of
from compiler.emit.described import schedule_text
from compiler.frontend.extras import Extras
from compiler.frontend.pipeline import import_model
from compiler.fusion.legal import Mask
from compiler.planning.plan import Plan
from compiler.programs.fitting import fitted
from compiler.programs.timing import program_cycles
from compiler.quantise.choices import INEXACT, Choices
from compiler.quantise.statistics import CalibrationWarning
from compiler.search.cost import Evaluator
from compiler.search.database import open_database
from compiler.search.effort import NORMAL, Effort
from compiler.search.progress import Progress
from compiler.xgraph.ops import Op
from isa.config import MachineConfig
from isa.errors import TilewrightError
from isa.program import WHOLE_MODEL, Program
from tilewright.compiling import imported_as
from tilewright.measure import timing_of
from tilewright.profile.activity import activities
from tilewright.profile.dataflow import dataflow
from tilewright.profile.parts import parsed
from tilewright.running import estimated_cycles

ELF_MAGIC = b"\x7fELF"


@dataclass(frozen=True, eq=False)
class Partitioned:
    """The groups in an order in which they can run, and the evaluator of their costs."""

    evaluator: Evaluator
    groups: Sequence[Sequence[Op]]
    cycles: int
    """The cycles of the whole program, by the cycle model."""
    program: Program | None = None
    """The program, or None if none was made."""


def is_program(path: Path) -> bool:
    with path.open("rb") as stream:
        return stream.read(len(ELF_MAGIC)) == ELF_MAGIC


def of_program(program: Program, name: str, effort: Effort = NORMAL) -> Partitioned:
    """The groups that a program was compiled with: layers whose maps meet on chip. ``effort``: that of their evaluation."""
    models = {graph.name: parsed(graph.name, graph.model) for graph in program.cpu_graphs}
    if WHOLE_MODEL not in models:
        raise TilewrightError(f"{name}: holds no model, so it was assembled; give a program that `tilewright compile` made")
    whole = models.pop(WHOLE_MODEL)
    known = {node.name for node in whole.graph.node}
    hosted = tuple(node.name for model in models.values() for node in model.graph.node if node.name in known)
    # The nodes of the program's CPU graphs stay on the CPU, and all others are on the machine.
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", CalibrationWarning)  # nothing of it is quantised again
        imported = import_model(whole, choices=Choices(keep_float=hosted, follow=INEXACT), extras=Extras.of(program.config))
    graph = fitted(imported, program.config)[0].graph
    evaluator = Evaluator(program.config, graph, open_database(program.config), effort=effort)
    sets = evaluator.sets
    number = {op.name: n for n, op in enumerate(sets.ops)}
    masks: dict[int, Mask] = {}
    for layer, group in _groups_of_layers(program).items():
        if layer in number:
            masks[group] = masks.get(group, 0) | 1 << number[layer]
    order = sets.in_order(list(masks.values()))
    if order is None or sum(order) != sets.everything:
        raise TilewrightError(f"{name}: its instructions do not match its model; compile the model again")
    return Partitioned(evaluator, [sets.members(mask) for mask in order], estimated_cycles(program), program)


def _groups_of_layers(program: Program) -> Mapping[str, int]:
    flow = dataflow(program.config, activities(program, timing_of(program, "cycle", None, quiet=True)))
    return flow.group_of


def schedule_of_model(
    path: Path, config: MachineConfig, *, strategy: str, objective: str, how: Mapping[str, Any], effort: Effort = NORMAL,
    progress: Progress | None = None,
) -> str:  # fmt: skip
    """All decisions of the strategy, as text. ``how``: arguments of ``tilewright.compiling.imported_as``."""
    check_choices(strategy, objective)
    database = open_database(config)
    imported, known = fitted(imported_as(path, **how, extras=Extras.of(config)), config, objective_of(objective), database)
    found = frugal_steps(config, imported.graph, strategy, objective, database, known, effort=effort, progress=progress)
    return schedule_text(config, imported.graph, found.steps, found.sharing)


def of_model(
    path: Path, config: MachineConfig, *, strategy: str, objective: str, how: Mapping[str, Any], effort: Effort = NORMAL,
    progress: Progress | None = None,
) -> Partitioned:  # fmt: skip
    """The groups that the strategy chooses. ``how``: arguments of ``tilewright.compiling.imported_as``."""
    check_choices(strategy, objective)
    database = open_database(config)
    imported = imported_as(path, **how, extras=Extras.of(config))
    imported, known = fitted(imported, config, objective_of(objective), database)
    graph = imported.graph
    found = frugal_steps(config, graph, strategy, objective, database, known, effort=effort, progress=progress)
    groups = [[layer.op for layer in step.group.layers] for step in found.steps if isinstance(step, Plan)]
    cycles = program_cycles(config, graph, found.steps, found.sharing)
    return Partitioned(Evaluator(config, graph, database, effort=effort), groups, cycles)
