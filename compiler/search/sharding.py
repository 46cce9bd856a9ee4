"""Costs for the search where several cores share one image: all cores share each group."""

from __future__ import annotations

from dataclasses import dataclass

from compiler.fusion.legal import Mask
from compiler.layers.fit import FitError
from compiler.planning.objective import Cost, Objective
from compiler.planning.plan import Plan
from compiler.planning.shards import plan_shards
from compiler.search.cost import Evaluator
from isa.cores import dram_bytes


@dataclass
class Sharding(Evaluator):
    """Tells the costs of groups that ``cores`` machines share.

    It is given neither ``database`` nor ``known``: these hold costs on one machine.
    """

    cores: int = 2

    def plan(self, mask: Mask, objective: Objective) -> Plan | None:
        columns = mask.bit_count() == 1 or bool(mask & self.narrow)
        try:
            return plan_shards(self.config, self.group(mask), self.cores, dram_bytes(self.config), columns)
        except FitError:
            return None

    def _planned_with_scheme(self, mask: Mask, objective: Objective) -> tuple[Cost | None, None]:
        """The cost of a group, and no scheme: a scheme does not say how a group is shared."""
        self.evaluated += 1
        plan = self.plan(mask, objective)
        return (None if plan is None else plan.cost), None
