"""Ranks of costs, and the bound that follows from one."""

from __future__ import annotations

from itertools import product

import pytest

from compiler.planning.objective import OBJECTIVES, Cost, Objective


@pytest.mark.parametrize("objective", [*OBJECTIVES.values(), Objective("slow", 3, 2)], ids=lambda objective: objective.name)
def test_more_cycles_than_within_rank_behind(objective: Objective) -> None:
    costs = [Cost(cycles, size) for cycles, size in product(range(12), range(12))]
    for known, cost in product(costs, costs):
        within = objective.cycles_within(objective.rank(known), cost.dram_bytes)
        if cost.cycles > within:
            assert objective.rank(cost) > objective.rank(known)
        elif cost.cycles < within:
            assert objective.rank(cost) < objective.rank(known)
