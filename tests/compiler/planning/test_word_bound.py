"""The bound on feature-map words against the places that plans really take."""

from __future__ import annotations

import pytest

from compiler.fusion.legal import OpSets
from compiler.planning.grouping import make_group
from compiler.planning.operations import Group
from compiler.planning.plan_group import plan_group
from compiler.planning.walk import Way
from compiler.planning.word_bound import WordBound
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
        for each in plan.passes:
            taken = Way(each.ranges, each.skew, each.placed).words
            bound = WordBound(config, each.group, (), all_rows(group))
            assert bound.least_shared(plan.steps) <= bound.least_words(plan.steps)
            least = bound.least_shared(plan.steps) if each.in_turn else bound.least_words(plan.steps)
            assert least <= taken <= config.fm_words


def test_few_steps_are_refused_where_the_maps_are_large() -> None:
    config = config_from_dict({"base": "nano", "name": "small", "fm_depth": 64}, origin="test")
    b = Builder(0)
    graph = b.graph(b.pool(b.conv(b.input(32, 32, 8), 8), PoolKind.MAX))
    group = make_group(config, graph, graph.ops)
    bound = WordBound(config, group, (), all_rows(group))
    assert bound.maps == [(32, 64), (32, 64), (16, 32)]
    assert [bound.least_words(steps) for steps in (1, 16)] == [4608, 288]
    assert [bound.least_shared(steps) for steps in (1, 16)] == [2048, 128]
    assert not bound.may_hold(1)
    assert not bound.may_hold(1, shared=True)
    assert bound.may_hold(16) == (config.fm_words >= 288)
