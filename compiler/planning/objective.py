"""The objective that the compiler makes least, in plans of groups, in partitions and in programs."""

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
    """A weighted sum of cycles and bytes. Neither weight is negative, which bounds rely on."""

    name: str
    cycle: int
    byte: int

    def __hash__(self) -> int:
        """The hash of the name, which is fast: it is asked for with each plan that is looked up."""
        return hash(self.name)

    def __call__(self, cost: Cost) -> int:
        return self.cycle * cost.cycles + self.byte * cost.dram_bytes

    def rank(self, cost: Cost) -> tuple[int, int, int]:
        """A key that sorts costs by the objective, then by cycles, then by bytes."""
        return self(cost), cost.cycles, cost.dram_bytes

    def cycles_within(self, rank: tuple[int, int, int], dram_bytes: int) -> float:
        """The most cycles with which a cost of ``dram_bytes`` does not rank behind this rank."""
        left = rank[0] - self.byte * dram_bytes
        if self.cycle:
            return left / self.cycle
        return rank[1] if left == 0 else copysign(inf, left)


CYCLES = Objective("cycles", 1, 0)
DRAM = Objective("dram", 0, 1)
ENERGY = Objective("energy", 1, 4)
"""An estimate to choose by, not a measurement. MACs are the same in every partition, so bytes and time remain. A byte from
DRAM is taken to cost as much as four cycles of the machine."""

LEAN = Objective("lean", 16, 1)
"""Cycles, and fewer bytes where cycles are nearly equal. The neighbours of a group wait for what the bus carries for it,
which the group's own time does not show."""

OBJECTIVES: dict[str, Objective] = {objective.name: objective for objective in (CYCLES, DRAM, ENERGY)}
"""The objectives that a user may ask for."""
