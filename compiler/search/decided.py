"""Search around groups that a schedule has decided. Every strategy puts the other operations into groups.

A decided group counts as one operation: if an operation waits for one of its members, it waits for all. No other operation
joins them. Strategies see each member alone, at no cost; ``Decided.whole`` puts them together again.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property

from compiler.fusion.legal import Mask, OpSets, bits_of
from compiler.planning.objective import Cost, Objective
from compiler.planning.plan import Plan
from compiler.planning.plan_group import plan_group
from compiler.schedule.document import GroupSchedule
from compiler.search.cost import Evaluator, Groups


@dataclass(frozen=True, eq=False)
class DecidedSets(OpSets):
    """The machine operations of a graph, some of which form decided groups."""

    decided: Sequence[Mask] = ()

    @cached_property
    def _group_of(self) -> dict[int, Mask]:
        return {n: mask for mask in self.decided for n in bits_of(mask)}

    @cached_property
    def needs(self) -> list[Mask]:
        plain = super()._reach[0]
        needs = []
        for number in range(len(self.ops)):
            own = self._group_of.get(number, 1 << number)
            found = 0
            for member in bits_of(own):
                for other in bits_of(plain[member] & ~own):
                    found |= self._group_of.get(other, 1 << other)
            needs.append(found)
        return needs

    @cached_property
    def ancestors(self) -> list[Mask]:
        """The operations that each needs, directly or not. A member of a decided group may need operations behind it in the
        graph, so one pass in the order of the graph is not enough: passes are repeated until nothing changes."""
        above = list(self.needs)
        changed = True
        while changed:
            changed = False
            for number, needs in enumerate(self.needs):
                found = needs
                for other in bits_of(needs):
                    found |= above[other]
                if found != above[number]:
                    above[number], changed = found, True
        return above

    @cached_property
    def apart(self) -> list[Mask]:
        taken = sum(self.decided)
        return [
            self.everything & ~(1 << number) if taken >> number & 1 else plain | taken
            for number, plain in enumerate(super()._reach[1])
        ]  # fmt: skip


@dataclass
class Decided(Evaluator):
    """Tells the costs of groups where a schedule has decided some of them."""

    _plans: dict[tuple[Mask, Objective], Plan] = field(default_factory=dict)
    _decided_costs: dict[tuple[Mask, Objective], Cost] = field(default_factory=dict)

    @cached_property
    def sets(self) -> OpSets:
        plain = super().sets
        return DecidedSets(plain.graph, plain.joined, [plain.mask([*ops]) for ops in self.wanted])

    @cached_property
    def _masks(self) -> dict[Mask, GroupSchedule]:
        return {self.sets.mask([*ops]): wanted for ops, wanted in self.wanted.items()}

    @cached_property
    def _taken(self) -> Mask:
        return sum(self._masks)

    def cost_of(self, mask: Mask, objective: Objective) -> Cost | None:
        if mask in self._masks:
            key = mask, self.planned_for or objective
            if key not in self._decided_costs:
                self._decided_costs[key] = self.cost_of_plan(self._as_decided(mask, objective))
            return self._decided_costs[key]
        if mask & self._taken:
            return Cost(0, 0) if mask.bit_count() == 1 else None
        return super().cost_of(mask, objective)

    def plan_all(self, groups: Sequence[Mask], objective: Objective) -> None:
        """Plans the groups that hold no decided operation. A decided plan says nothing of other groups of its shape."""
        super().plan_all([mask for mask in groups if not mask & self._taken], objective)

    def plan(self, mask: Mask, objective: Objective) -> Plan | None:
        return self._as_decided(mask, objective) if mask in self._masks else super().plan(mask, objective)

    def whole(self, groups: Groups) -> Groups:
        """The groups of a partition with each decided group in place of its members."""
        masks = [mask for group in groups if not (mask := self.sets.mask(group)) & self._taken]
        order = self.sets.in_order([*masks, *self._masks])
        assert order is not None, "members of a decided group wait for the same"
        return tuple(tuple(self.sets.members(mask)) for mask in order)

    def _as_decided(self, mask: Mask, objective: Objective) -> Plan:
        key = mask, self.planned_for or objective
        if key not in self._plans:
            self._plans[key] = plan_group(self.config, self.group(mask), key[1], wanted=self._masks[mask])
        return self._plans[key]
