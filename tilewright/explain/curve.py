"""Cycles against DRAM for feature maps: how much longer a model takes, the less memory it may use."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from compiler.driver import frugal_steps, objective_of
from compiler.frontend.extras import Extras
from compiler.planning.plan import Plan
from compiler.programs.fitting import fitted
from compiler.programs.limit import curve
from compiler.programs.timing import program_cycles
from compiler.search.cost import Evaluator
from compiler.search.database import open_database
from compiler.search.effort import NORMAL, Effort
from compiler.search.progress import Progress
from isa.config import MachineConfig
from tilewright.compiling import imported_as

POINTS = 12
"""The most points that are looked for."""


@dataclass(frozen=True)
class Point:
    """One program: the bytes of its feature maps, and its cycles by the cycle model."""

    bytes: int
    cycles: int
    groups: int
    shared: bool
    """Whether inputs and outputs lie in WORK."""


def memory_curve(
    path: Path, config: MachineConfig, *, objective: str, how: Mapping[str, Any], effort: Effort = NORMAL,
    progress: Progress | None = None,
) -> list[Point]:  # fmt: skip
    """The curve from the program without a limit to the least memory. Points that take both more bytes and more cycles are left
    out."""
    database = open_database(config)
    imported = imported_as(path, **how, extras=Extras.of(config))
    wanted = objective_of(objective)
    imported, known = fitted(imported, config, wanted, database)
    graph = imported.graph
    given = frugal_steps(config, graph, "best", objective, database, known, effort=effort, progress=progress).steps
    return [
        Point(each.bytes, program_cycles(config, graph, each.steps, each.sharing), groups, each.sharing.host)
        for each in curve(Evaluator(config, graph, database, known, effort=effort), wanted, given, POINTS)
        for groups in (sum(isinstance(step, Plan) for step in each.steps),)
    ]
