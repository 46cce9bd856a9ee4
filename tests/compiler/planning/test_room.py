"""The bound on feature-map words against the places that plans really take."""

from __future__ import annotations

import pytest

from compiler.fusion.legal import OpSets
from compiler.planning.grouping import make_group
from compiler.planning.operations import Group
from compiler.planning.planner import plan_group
from compiler.planning.room import Room
from compiler.planning.walk import Way
from compiler.xgraph.ops import PoolKind
from isa.config import config_from_dict, preset
from tests.compiler.graphs import Builder
from tests.compiler.search.partitions import all_groups, random_graph


def all_rows(group: Group) -> dict[str, int]:
    return {name: tensor.height for name, tensor in group.tensors.items()}


@pytest.mark.parametrize("seed", range(15))
def test_no_plan_takes_less_than_the_bound(seed: int) -> None:
    config = preset("nano")
    graph = random_graph(seed)
    sets = OpSets(graph)
    for mask in all_groups(sets, sets.joins):
        group = make_group(config, graph, sets.members(mask))
        plan = plan_group(config, group)
        for walk in plan.passes:
            taken = Way(walk.ranges, walk.skew, walk.placed).words
            room = Room(config, walk.group, (), all_rows(group))
            assert room.least_shared(plan.steps) <= room.least_words(plan.steps)
            least = room.least_shared(plan.steps) if walk.in_turn else room.least_words(plan.steps)
            assert least <= taken <= config.fm_words


def test_few_steps_are_refused_where_the_maps_are_large() -> None:
    config = config_from_dict({"base": "nano", "name": "small", "fm_depth": 64}, origin="test")
    b = Builder(0)
    graph = b.graph(b.pool(b.conv(b.input(32, 32, 8), 8), PoolKind.MAX))
    group = make_group(config, graph, graph.ops)
    room = Room(config, group, (), all_rows(group))
    assert room.maps == [(32, 64), (32, 64), (16, 32)]
    assert [room.least_words(steps) for steps in (1, 16)] == [4608, 288]
    assert [room.least_shared(steps) for steps in (1, 16)] == [2048, 128]
    assert not room.may_hold(1)
    assert not room.may_hold(1, shared=True)
    assert room.may_hold(16) == (config.fm_words >= 288)
