"""Finds the best plan of a group, freely or as a schedule wants it: all channels at once, in passes, or in column tiles."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from math import inf

from compiler.planning.bands import in_bands
from compiler.planning.candidates import Candidates
from compiler.planning.cut import Cut, cut_of
from compiler.planning.misfit import misfit
from compiler.planning.objective import CYCLES, Objective
from compiler.planning.operations import Group
from compiler.planning.parts import passes, smallest, whole
from compiler.planning.placement import place, rings_of
from compiler.planning.plan import Pass, Plan
from compiler.planning.selection import Selection
from compiler.planning.stepping import Stepping
from compiler.planning.wanted import check_held, parts_as
from compiler.schedule.document import FREE, GroupSchedule
from isa.config import MachineConfig


def plan_group(
    config: MachineConfig, group: Group, objective: Objective = CYCLES, upwards: bool = True, rows_only: bool = False,
    columns: bool = True, wanted: GroupSchedule = FREE, bands: int = 1,
) -> Plan:  # fmt: skip
    """The best plan of those that are as ``wanted``. ``upwards``: placed from the bottom of the buffer, else from the top.

    Plans in passes are tried where a plan in one pass reloads parameters or does not fit; otherwise they could save nothing.
    ``rows_only``: tiled as in DNNVM and Optimus, over rows alone. A layer's parameters then all stay on chip or are all loaded
    again with each tile, and passes are tried only where no tile of rows fits. ``columns``: columns may be tiled, too, if
    nothing else fits. ``bands``: the number of bands of rows to try before column tiles.
    """
    if wanted.bands is not None:
        return _banded_as(config, group, objective, upwards, wanted)
    if not wanted.free:
        return _planned_as(config, group, objective, upwards, wanted)
    selection = Selection(config, group, objective, upwards, rows_only)
    best = selection.plan(whole(group), ())
    cut = cut_of(config, group) if best is None or (best.reloaded and not rows_only) else None
    if cut is not None:
        for floor, count, held in sorted(selection.bounds.of_cut(cut), key=lambda found: (objective.rank(found[0]), found[1])):
            if best is None or objective(floor) < objective(best.cost):
                most = inf if best is None or objective.byte else best.cost.cycles
                plan = selection.plan(passes(cut, count), held, most)
                if plan is not None and (best is None or objective.rank(plan.cost) < objective.rank(best.cost)):
                    best = plan
    if best is None and columns and bands > 1:
        best = in_bands(config, group, bands, lambda band: plan_group(config, band, objective, upwards))
    if best is None and columns:
        best = selection.in_tiles(cut)
    if best is None:
        error = misfit(config, smallest(config, group, cut, columns), group.name)
        if wanted is FREE:
            raise error
        raise wanted.refused("operations", str(error).removeprefix(f"layer {group.name}: "))
    return replace(best, wanted=wanted)


def _planned_as(config: MachineConfig, group: Group, objective: Objective, upwards: bool, wanted: GroupSchedule) -> Plan:
    """The best plan of those that are as wanted. If there is none, the schedule is refused."""
    bottom = upwards if wanted.end is None else wanted.end == "bottom"
    selection = Selection(config, group, objective, bottom, wanted=wanted)
    cut = cut_of(config, group)
    check_held(wanted, cut)
    best: Plan | None = None
    counts = (1, *(cut.counts() if cut else ())) if wanted.passes is None else (wanted.passes,)
    for count in counts:
        parts = parts_as(config, group, cut, replace(wanted, passes=count))
        may_hold = count > 1 and cut is not None and bool(cut.whole) and parts.tiles == 1
        for held in _held(wanted, cut, may_hold):
            plan = selection.plan(parts, held)
            if plan is not None and (best is None or objective.rank(plan.cost) < objective.rank(best.cost)):
                best = plan
    if best is None and wanted.passes is None and wanted.tiles is None and not wanted.held:
        best = selection.in_tiles(cut)
    if best is None:
        refused = wanted.refused("", f"as it is wanted it does not fit on configuration {config.name}")
        raise selection.candidates.refused or refused
    return best


def _banded_as(config: MachineConfig, group: Group, objective: Objective, upwards: bool, wanted: GroupSchedule) -> Plan:
    """The plan in as many bands as the schedule decides. The planner decides how each band is computed."""
    assert wanted.bands is not None
    other = replace(wanted, bands=None, end=None)
    if not other.free:
        raise wanted.refused("bands", "with bands nothing else can be decided but the end; leave the rest out")
    most = max(group.tensors[name].height for name in group.outputs)
    if not 1 < wanted.bands <= most:
        raise wanted.refused("bands", f"{wanted.bands} bands; expected 2 to {most}, the rows of its outputs; or leave them out")
    bottom = upwards if wanted.end is None else wanted.end == "bottom"
    best = in_bands(config, group, wanted.bands, lambda band: plan_group(config, band, objective, bottom))
    if best is None:
        raise wanted.refused("bands", f"in {wanted.bands} bands it does not fit on configuration {config.name}; take fewer")
    return replace(best, wanted=wanted)


def _held(wanted: GroupSchedule, cut: Cut | None, may_hold: bool) -> Iterator[Sequence[str]]:
    if wanted.held is not None:
        yield from (wanted.held,) if may_hold or not wanted.held else ()
    else:
        yield ()
        if may_hold and cut is not None:
            yield cut.whole


def turned(config: MachineConfig, plan: Plan) -> Plan:
    """The best plan of the same group for the same objective, at the other end of the buffer.

    Where every map has words of its own, both ends leave equal room, and no estimate depends on places. So only the places
    change. Other plans are planned again.
    """
    other, way = not plan.upwards, plan.way
    placed = None
    if plan.wanted is FREE and plan.bands == 1 and not way.in_turn:
        placed = place(config, plan.widest, way.ranges, rings_of(config, plan.widest, way.skew, plan.held), other)
    if placed is None:
        return plan_group(config, plan.group, plan.objective, other, wanted=plan.wanted, bands=plan.bands)
    there = replace(way, placed=placed)

    def make(number: int) -> Pass:
        part = plan.passes[number]
        return replace(part, placed=there.placed_for(config, part.group))

    return replace(plan, upwards=other, way=there, make=make)


def needs_tiles(config: MachineConfig, group: Group) -> bool:
    """Whether the group fits only if its columns are tiled."""
    candidates = Candidates(config, Stepping(group))
    few = smallest(config, group, cut_of(config, group), columns=False)
    return not candidates.any_fits(group) and not candidates.any_fits(few)
