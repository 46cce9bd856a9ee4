"""What is made least: the one measure by which groups are planned, partitions compared, and programs emitted."""

from __future__ import annotations

from dataclasses import dataclass
from math import copysign, inf


@dataclass(frozen=True)
class Cost:
    """The cost of one group, for the whole batch."""

    cycles: int
    dram_bytes: int

    def __add__(self, other: Cost) -> Cost:
        return Cost(self.cycles + other.cycles, self.dram_bytes + other.dram_bytes)

    def times(self, count: int) -> Cost:
        return Cost(self.cycles * count, self.dram_bytes * count)


@dataclass(frozen=True)
class Objective:
    """A weighted sum. Neither weight is negative: bounds rest on that."""

    name: str
    cycle: int
    byte: int

    def __hash__(self) -> int:
        """Asked for with each plan that is looked up; a name knows its hash."""
        return hash(self.name)

    def __call__(self, cost: Cost) -> int:
        return self.cycle * cost.cycles + self.byte * cost.dram_bytes

    def rank(self, cost: Cost) -> tuple[int, int, int]:
        """Where the objective is equal, the faster cost comes first, then the one that moves fewer bytes."""
        return self(cost), cost.cycles, cost.dram_bytes

    def cycles_within(self, rank: tuple[int, int, int], dram_bytes: int) -> float:
        """The cycles beyond which a cost of ``dram_bytes`` ranks behind this rank."""
        left = rank[0] - self.byte * dram_bytes
        if self.cycle:
            return left / self.cycle
        return rank[1] if left == 0 else copysign(inf, left)


CYCLES = Objective("cycles", 1, 0)
DRAM = Objective("dram", 0, 1)
ENERGY = Objective("energy", 1, 4)
"""A weight to choose by, not a measurement: MACs are the same in every partition, so bytes and time remain, and a byte from
DRAM is taken to cost as much as four cycles of the machine."""

LEAN = Objective("lean", 16, 1)
"""Cycles, but of nearly equal ones those with fewer bytes: what the bus carries for one group its neighbours wait for, which
no group's own time shows."""

OBJECTIVES: dict[str, Objective] = {objective.name: objective for objective in (CYCLES, DRAM, ENERGY)}
"""What a user may ask for."""
