"""Shards: a group that several cores execute at the same time, each a part of its outputs.

A shard is the group with smaller maps, as a channel pass (``cut.py``) or a band of rows (``bands.py``) is. Each core plans its
shard as a group of its own. That may itself run in passes or tiles. Each of ``n`` cores moves about this many bytes:

    channels:  inputs that dense layers read + (other maps + parameters) / n
    rows:      (maps + halos) / n + parameters

Rows suit early layers, whose maps are large. Channels suit late layers, whose parameters are large. No shard reads what another
writes. Where two shards write the same rows of a map, they write the same. So cores wait for each other only between groups.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from compiler.layers.fit import FitError
from compiler.planning.columns import ROWS, TileCut
from compiler.planning.cut import cut_of
from compiler.planning.objective import CYCLES, Cost
from compiler.planning.operations import Group
from compiler.planning.plan import Pass, Plan
from compiler.planning.plan_group import plan_group
from compiler.tuned import PHASE_CYCLES
from isa.config import MachineConfig


def plan_shards(config: MachineConfig, group: Group, cores: int, dram_bytes: int, columns: bool = True) -> Plan:
    """The fastest plan for so many cores: in shards, or on one core if no shards are faster.

    Its cycles are the sum over all cores until all are done, with their waits: ``cores`` times those of the slowest. So bounds
    of one core hold for it, too. ``dram_bytes``: the bytes that DRAM moves for all cores in a cycle. ``columns``: as for
    ``plan_group``.
    """
    best: Plan | None = None
    misfit: FitError | None = None
    for parts in ways(config, group, cores):
        try:
            plan = together(group, [plan_group(config, part, columns=columns) for part in parts], cores, dram_bytes)
        except FitError as error:
            misfit = misfit or error
            continue
        if best is None or CYCLES.rank(plan.cost) < CYCLES.rank(best.cost):
            best = plan
    if best is None:
        assert misfit is not None
        raise misfit
    return best


def ways(config: MachineConfig, group: Group, cores: int) -> Iterator[Sequence[Group]]:
    """Yields the whole group for one core, and then the shards of each way to cut it."""
    yield [group]
    cut = cut_of(config, group)
    if cut is not None and cut.most >= cores:
        yield [cut.part(number, cores) for number in range(cores)]
    rows = TileCut(config, group, ROWS)
    if rows.most >= cores and not group.stacked:
        yield [rows.part(number, cores) for number in range(cores)]


def together(group: Group, shards: Sequence[Plan], cores: int, dram_bytes: int) -> Plan:
    """The plan of all shards, each on a core of its own."""
    begin = shards[0]
    moved = sum(shard.cost.dram_bytes for shard in shards)
    slowest = max(*(shard.cost.cycles for shard in shards), -(-moved // dram_bytes))
    cost = Cost(cores * (slowest + PHASE_CYCLES), moved)
    if len(shards) == 1:
        return replace(begin, cost=cost)
    order = [(core, number) for core, shard in enumerate(shards) for number in range(shard.count)]
    held = [name for shard in shards for name in shard.held]

    def make(place: int) -> Pass:
        core, number = order[place]
        return shards[core].passes[number]

    return Plan(
        group, len(order), len(order), begin.widest, begin.way, begin.upwards, held, cost,
        sum(shard.reloaded for shard in shards), make, CYCLES, cores=[core for core, _ in order],
    )  # fmt: skip
