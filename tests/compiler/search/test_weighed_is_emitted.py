"""What a search weighed is what is emitted: the plans of a partition, and the bytes that its program moves."""

from __future__ import annotations

from pathlib import Path

import pytest

from compiler.driver import steps_of
from compiler.emit.program import emit_program
from compiler.planning.objective import OBJECTIVES
from compiler.planning.plan import Plan
from compiler.search.cost import Evaluator
from compiler.search.database import Database
from compiler.search.strategies import STRATEGIES
from compiler.xgraph.graph import XGraph
from compiler.xgraph.ops import EltwiseKind, PoolKind
from isa.config import config_from_dict
from tests.compiler.graphs import Builder
from tests.compiler.planning.bytes_moved import moved
from tests.tables import in_turn

SMALL = config_from_dict({"base": "nano", "name": "small", "fm_depth": 64, "weight_depth": 24}, origin="test")
"""Holds the parameters of 32 channels of a 1x1 convolution of 12."""


def residual(seed: int) -> XGraph:
    b = Builder(seed)
    x = b.conv(b.input(7, 6, 8), 16 + 8 * seed, (1, 1))
    y = b.eltwise(EltwiseKind.ADD, b.conv(x, 40), b.conv(x, 40, (1, 1)))
    return b.graph(b.pool(y, PoolKind.MAX), b.conv(x, 30, (1, 1), (2, 2)))


@pytest.mark.parametrize(("name", "objective"), in_turn([*STRATEGIES], [*OBJECTIVES]))
def test_a_partition_is_emitted_as_it_was_weighed(name: str, objective: str) -> None:
    count = 0
    for seed in range(2):
        graph = residual(seed)
        partition = STRATEGIES[name](graph, Evaluator(SMALL, graph), OBJECTIVES[objective])
        plans = [step for step in steps_of(SMALL, graph, name, objective) if isinstance(step, Plan)]
        if objective != "cycles" or name not in ("best", "neocpu"):  # which the cycle model decides
            assert sum(OBJECTIVES[objective](plan.cost) for plan in plans) == partition.value
        assert moved(SMALL, emit_program(SMALL, graph, plans)) == sum(plan.cost.dram_bytes for plan in plans)
        count += sum(plan.count - 1 for plan in plans)
    assert count > 0 or objective == "cycles" or name == "fuse-and-shrink"  # whose one group fits without passes


def test_for_fewer_bytes_a_group_runs_in_passes_and_for_fewer_cycles_it_need_not() -> None:
    b = Builder(0)
    graph = b.graph(b.conv(b.input(8, 8, 16), 32, (1, 1)))
    plans = {
        name: step for name in ("cycles", "dram") for step in steps_of(SMALL, graph, "naive", name) if isinstance(step, Plan)
    }  # fmt: skip
    assert plans["dram"].cost.dram_bytes < plans["cycles"].cost.dram_bytes
    assert plans["dram"].cost.cycles > plans["cycles"].cost.cycles


def test_each_pass_has_tiles_of_its_own() -> None:
    b = Builder(0)
    graph = b.graph(b.conv(b.input(8, 8, 16), 32, (1, 1)))
    steps = steps_of(SMALL, graph, "naive", "dram")
    (plan,) = (step for step in steps if isinstance(step, Plan))
    tiles = {record.tile for record in emit_program(SMALL, graph, steps).debug if record.layer == "conv0"}
    assert plan.count > 1
    assert tiles == set(range(plan.count * plan.steps))


def test_costs_of_other_objectives_are_kept_apart(tmp_path: Path) -> None:
    b = Builder(0)
    graph = b.graph(b.conv(b.input(8, 8, 16), 32, (1, 1)))
    database = Database(tmp_path / "costs.json")
    evaluator = Evaluator(SMALL, graph, database)
    costs = {name: evaluator.cost_of(1, objective) for name, objective in OBJECTIVES.items()}
    assert costs["dram"] != costs["cycles"]
    assert len(database) == len(OBJECTIVES)
    again = Evaluator(SMALL, graph, database)
    assert {name: again.cost_of(1, objective) for name, objective in OBJECTIVES.items()} == costs
    assert again.evaluated == 0
