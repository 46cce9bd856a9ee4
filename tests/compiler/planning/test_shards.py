"""Shards of groups: cores that run at the same time leave the reference, each byte written by one of them or alike by all."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from compiler.emit.program import emit_program
from compiler.layers.fit import FitError
from compiler.planning.grouping import make_group
from compiler.planning.plan import Plan
from compiler.planning.plan_group import plan_group
from compiler.planning.shards import plan_shards, together, ways
from compiler.tuned import PHASE_CYCLES
from compiler.xgraph.ops import Concat, PoolKind
from tests.compiler.at_once import check_at_once, steps_of
from tests.compiler.graphs import Builder
from tests.compiler.planning.bytes_moved import moved
from tests.compiler.planning.test_columns import CASES, NANO, ODD, TINY, WIDE
from tests.tables import name_of, one_in

DRAM = 8
"""Bytes in a cycle for all cores."""


def many_channels(b: Builder) -> list[str]:
    """Passes over channels within a shard of channels."""
    return [b.pool(b.conv(b.input(9, 8, 16), 64), PoolKind.MAX)]


def wide_rows(b: Builder) -> list[str]:
    """Column tiles within a shard of channels, and of rows."""
    return [b.conv(b.input(6, 200, 8), 16)]


MORE = (*CASES, many_channels, wide_rows)
CONFIGS = (NANO, TINY, WIDE, ODD)


@pytest.mark.parametrize("case", one_in(2, MORE), ids=name_of)
def test_cores_at_the_same_time_leave_the_reference(case: Callable[[Builder], list[str]]) -> None:
    number = MORE.index(case)
    config, cores = CONFIGS[number % len(CONFIGS)], 2 + number % 2
    b = Builder(number)
    graph = b.graph(*case(b))
    group = make_group(config, graph, [op for op in b.ops if not isinstance(op, Concat)])
    for parts in ways(config, group, cores):
        # A part is smaller than the group, which fits.
        plan = together(group, [plan_group(config, part) for part in parts], cores, DRAM)
        emitted = emit_program(config, graph, [plan])
        assert moved(config, emitted) == plan.cost.dram_bytes
        assert steps_of(config, emitted).cores == (cores if plan.cores else 1)
        check_at_once(config, graph, emitted)


def shared(b: Builder, output: str, cores: int = 2, dram_bytes: int = DRAM) -> Plan:
    graph = b.graph(output)
    return plan_shards(NANO, make_group(NANO, graph, b.ops), cores, dram_bytes)


def test_large_maps_are_cut_by_rows_and_many_parameters_by_channels() -> None:
    b = Builder(0)
    rows = shared(b, b.conv(b.input(32, 32, 4), 12))
    assert rows.passes[0].group.first_row
    assert not rows.passes[0].group.first_channel
    c = Builder(1)
    channels = shared(c, c.conv(c.input(3, 3, 64), 64))
    assert channels.passes[0].group.first_channel
    assert not channels.passes[0].group.first_row


def test_cycles_are_those_of_all_cores_until_the_slowest_is_done() -> None:
    b = Builder(0)
    output = b.conv(b.input(33, 32, 4), 12)
    graph = b.graph(output)
    group = make_group(NANO, graph, b.ops)
    alone = plan_group(NANO, group)
    plan = plan_shards(NANO, group, 2, DRAM)
    _, _, rows = ways(NANO, group, 2)
    parts = [plan_group(NANO, part).cost for part in rows]
    assert plan.cost.cycles == 2 * (max(part.cycles for part in parts) + PHASE_CYCLES)
    assert plan.cost.dram_bytes == sum(part.dram_bytes for part in parts) > alone.cost.dram_bytes
    slow = plan_shards(NANO, group, 2, 1)
    assert slow.cost.cycles >= 2 * slow.cost.dram_bytes, "DRAM is the bound"


def test_what_takes_less_than_a_phase_costs_runs_on_one_core() -> None:
    b = Builder(0)
    plan = shared(b, b.conv(b.input(2, 2, 4), 8))
    assert (plan.cores, plan.count) == ((), 1)


def test_one_row_of_few_channels_has_no_shards() -> None:
    b = Builder(0)
    assert not shared(b, b.conv(b.input(1, 2000, 4), 4, (1, 3))).cores


def test_what_fits_on_no_core_is_refused_as_by_one() -> None:
    b = Builder(0)
    graph = b.graph(b.conv(b.input(100, 4, 16), 4, (99, 1)))
    group = make_group(TINY, graph, b.ops)
    with pytest.raises(FitError) as one:
        plan_group(TINY, group)
    with pytest.raises(FitError) as all_cores:
        plan_shards(TINY, group, 2, DRAM)
    assert str(all_cores.value) == str(one.value)
