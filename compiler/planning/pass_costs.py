"""The cost of a pass: its bytes, which are exact, and its cycles by the walk, as far as neighbours do not hide them."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from math import inf

from compiler.planning.bounds import Bounds
from compiler.planning.objective import Cost
from compiler.planning.operations import Group
from compiler.planning.residence import Residence
from compiler.planning.walk import Way, walk
from isa.config import MachineConfig


class Costs:
    """Tells the costs of the passes of one group for the whole batch. Each pass is walked once."""

    def __init__(self, config: MachineConfig, bounds: Bounds, batch: int) -> None:
        self.config, self._bounds, self._batch = config, bounds, batch
        self._walked: dict[tuple[Way, Residence, int], int] = {}

    def of_pass(
        self, group: Group, way: Way, residence: Residence, loads: Sequence[str], held: Collection[str],
        limit: float = inf, most: float = inf,
    ) -> Cost | None:  # fmt: skip
        """The cost of a pass. None: its busiest unit works for more than ``limit`` cycles, or it takes more than ``most``."""
        least = self._bounds.of_pass(group, way.ranges.steps, residence, loads, held)
        if least.cycles > most:
            return None
        known = way, residence, len(loads)
        if known not in self._walked:
            ends = self._ends(group, way, residence)
            taken = walk(self.config, group, way, residence, loads, limit / self._batch, ends, most / self._batch)
            if taken is None:
                return None
            self._walked[known] = taken.counting(ends)
        return Cost(max(least.cycles, self._walked[known] * self._batch), least.dram_bytes)

    def _ends(self, group: Group, way: Way, residence: Residence) -> float:
        """The share that counts of the cycles of a pass before and after its busiest unit works.

        Neighbouring groups overlap if both fit on chip. They are taken to do so where a group takes up to half of it. Passes do
        not overlap.
        """
        if group.partial:
            return 1.0
        share = max(way.words / self.config.fm_words, residence.weights / self.config.weight_depth)
        return max(0.0, 2 * min(1.0, share) - 1)
