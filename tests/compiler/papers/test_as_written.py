"""The strategies that choose by their papers' formulas: the best by these, and what our machine makes of it."""

from __future__ import annotations

from pathlib import Path

import pytest

from compiler.papers import as_written
from compiler.papers.modelled import Modelled, dnnvm_model, optimus_model
from compiler.papers.optimus.memory_cost import memory_cost
from compiler.papers.optimus.online_table import most_operations
from compiler.planning.objective import CYCLES, DRAM
from compiler.search.cost import Evaluator
from compiler.search.database import open_database
from compiler.search.strategies import STRATEGIES
from isa.config import MachineConfig, config_from_dict, preset
from tests.compiler.graphs import Builder
from tests.compiler.search.partitions import all_groups, all_partitions, random_graph, runs

NANO = preset("nano")
NAMES = ("optimus-as-written", "optimus-online-as-written", "dnnvm-as-written")


def small() -> MachineConfig:
    """Maps of the random graphs do not fit in whole, and parameters of two convolutions only sometimes."""
    return config_from_dict({"base": "nano", "name": "small", "weight_depth": 48, "fm_depth": 64}, origin="test")


def modelled(seed: int) -> Modelled:
    return Modelled(small(), random_graph(seed), model=optimus_model)


def least(by: Modelled, groups: list[int]) -> int:
    sets = by.sets
    prices = {}
    for mask in groups:
        cost = by.cost_of(mask, DRAM)
        if cost is not None:
            prices[mask] = cost.dram_bytes
    partitions = (p for p in all_partitions(sets, list(prices)) if sets.in_order(p) is not None)
    return min(sum(prices[group] for group in partition) for partition in partitions)


@pytest.mark.parametrize("seed", range(12))
def test_optimus_finds_the_least_of_all_partitions_by_its_formula(seed: int) -> None:
    by = modelled(seed)
    found = as_written.choose_optimus(by)
    assert found.exact
    assert found.value == least(by, all_groups(by.sets, by.sets.joins))


@pytest.mark.parametrize("seed", range(12))
def test_the_variant_finds_the_least_of_the_groups_that_its_rules_leave(seed: int) -> None:
    by = modelled(seed)
    most = most_operations(as_written.table_of(by), by.machine.maps)
    groups = [
        mask for mask in all_groups(by.sets, by.sets.joins)
        if mask.bit_count() == 1 or (mask.bit_count() <= most and by.sets.keeps_readers_together(mask))
    ]  # fmt: skip
    assert as_written.choose_online(by).value == least(by, groups)


@pytest.mark.parametrize("seed", range(12))
def test_dnnvm_takes_groups_that_its_formula_allows_and_is_no_slower_than_no_fusion(seed: int) -> None:
    by = Modelled(small(), random_graph(seed), model=dnnvm_model)
    found = as_written.choose_dnnvm(by)
    alone = 0
    for n in range(len(by.sets.ops)):
        cost = by.cost_of(1 << n, CYCLES)
        assert cost is not None
        alone += cost.cycles
    assert found.value <= alone
    for group in found.groups:
        assert len(group) == 1 or by.parameters_fit(by.sets.mask(group))


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("seed", range(6))
def test_the_objective_changes_the_value_but_not_the_choice(seed: int, name: str) -> None:
    evaluator = Evaluator(small(), random_graph(seed))
    one, other = (STRATEGIES[name](evaluator.graph, evaluator, objective) for objective in (DRAM, CYCLES))
    assert one.groups == other.groups
    assert runs(evaluator.graph, one.groups)


def test_a_group_that_no_plan_of_ours_fits_is_not_chosen() -> None:
    """Two wide rows in few channels at a time fit by the formula; our machine keeps all channels of a row."""
    b = Builder(0)
    graph = b.graph(b.conv(b.conv(b.input(8, 160, 32), 64, (1, 1)), 32, (1, 1)))
    evaluator = Evaluator(NANO, graph)
    by = Modelled(NANO, graph, model=optimus_model)
    both = by.sets.everything
    assert by.cost_of(both, DRAM) is not None
    assert evaluator.cost_of(both, DRAM) is None
    assert len(as_written.choose_optimus(by).groups) == 1
    assert len(STRATEGIES["optimus-as-written"](graph, evaluator, DRAM).groups) == 2


def test_the_table_is_made_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    graph = random_graph(3)
    first = as_written.table_of(Modelled(NANO, graph, open_database(NANO, tmp_path), model=optimus_model))
    assert first == as_written.table_of(Modelled(NANO, graph, model=optimus_model)), "there need be nowhere to keep it"
    monkeypatch.setattr(as_written, "make_table", None)
    assert as_written.table_of(Modelled(small(), graph, open_database(small(), tmp_path), model=optimus_model)) == first


def test_an_operation_that_the_formula_cannot_place_costs_what_our_planner_says() -> None:
    b = Builder(0)
    graph = b.graph(b.conv(b.input(4, 400, 64), 64, (1, 1)))
    by = Modelled(small(), graph, model=optimus_model)
    assert memory_cost(by.machine, by.tiles(1), by.parameters_of(1)) is None
    assert by.cost_of(1, DRAM) == Evaluator(small(), graph).cost_of(1, DRAM)
    assert by.borrowed == {1}
