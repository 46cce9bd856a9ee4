"""Describes a program as a schedule: reads the decisions off its plans and places."""

from __future__ import annotations

from collections.abc import Sequence

from compiler.emit.places import APART, Sharing, offsets_of
from compiler.planning.plan import Plan
from compiler.planning.residence import PARAMETER_BUFFERS
from compiler.schedule.document import End, GroupSchedule, Ring, Schedule, Stay
from compiler.schedule.text import to_toml
from compiler.xgraph.graph import XGraph
from compiler.xgraph.ops import Cpu
from isa.config import MachineConfig
from isa.errors import TilewrightError


def schedule_of(
    config: MachineConfig, graph: XGraph, steps: Sequence[Plan | Cpu], sharing: Sharing = APART
) -> Schedule:
    """The schedule with all decisions. If the graph is compiled again with it, the program is the same."""
    return Schedule(
        tuple(GroupSchedule((step.name,)) if isinstance(step, Cpu) else group_schedule(config, step) for step in steps),
        True, sharing.host, sharing.overlap, offsets_of(graph, steps, sharing),
        tuple(sorted(sharing.blocked.maps)) or None,
    )  # fmt: skip


def schedule_text(config: MachineConfig, graph: XGraph, steps: Sequence[Plan | Cpu], sharing: Sharing = APART) -> str:
    """The schedule as TOML, with a comment that names the graph and the configuration."""
    groups = sum(isinstance(step, Plan) for step in steps)
    heading = f"Schedule of {graph.name}: {groups} groups on configuration {config.name}."
    return to_toml(schedule_of(config, graph, steps, sharing), heading)


def group_schedule(config: MachineConfig, plan: Plan) -> GroupSchedule:
    """The schedule of one group."""
    if plan.cores:
        raise TilewrightError(f"schedule: cores share group {plan.group.name}; a schedule is for one: compile without --cores")
    operations = tuple(layer.op.name for layer in plan.group.layers)
    end: End = "bottom" if plan.upwards else "top"
    if plan.bands > 1:
        return GroupSchedule(operations, end=end, bands=plan.bands)
    rings = {
        name: Ring(placed.base, placed.ring, placed.pitch, placed.apart, placed.shift)
        for name, placed in plan.rings(config).items()
    }
    return GroupSchedule(
        operations, plan.steps, plan.pipelined, plan.count // plan.tiles, plan.tiles,
        tuple(plan.held), end, rings, _parameters(config, plan),
    )  # fmt: skip


def _parameters(config: MachineConfig, plan: Plan) -> dict[str, tuple[Stay, ...]]:
    """The ``Stay`` of each operation with parameters: one for all passes if they are alike, else one for each pass."""
    found: dict[str, list[Stay]] = {}
    for each in plan.passes:
        for layer in each.group.layers:
            name = layer.output
            used = {buffer for block in each.residence.blocks[name] for buffer in block.sizes}
            budget = each.residence.budgets[name]
            if used:
                less = [b for b in PARAMETER_BUFFERS if b in used and budget[b] != config.buffer_depth(b.name)]
                words = {b.name.lower(): budget[b] for b in less}
                found.setdefault(layer.op.name, []).append(Stay(each.residence.stay[name], words))
    return {name: tuple(stays[:1] if stays.count(stays[0]) == len(stays) else stays) for name, stays in found.items()}
