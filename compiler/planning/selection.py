"""Finds the best plan of a group that is executed in given parts.

It looks at plans in the order of their lower bounds, and stops when no plan that is left can be better than the best so far. It
chooses the number of steps of a pass, their order, the parameters that stay, and the number of column tiles. ``candidates.py``
lists the choices, ``pass_costs.py`` says what they cost, and ``bounds.py`` has the lower bounds.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator, Sequence
from itertools import dropwhile
from math import inf

from compiler.planning.bounds import Bounds
from compiler.planning.candidates import Candidates, suits
from compiler.planning.cut import Cut
from compiler.planning.objective import Cost, Objective
from compiler.planning.operations import Group
from compiler.planning.parts import Parts, tiles
from compiler.planning.pass_costs import Costs
from compiler.planning.plan import Pass, Plan
from compiler.planning.residence import Residence
from compiler.planning.stepping import Stepping
from compiler.planning.walk import Way
from compiler.planning.wanted import check_steps
from compiler.schedule.document import FREE, GroupSchedule
from compiler.tuned import NEAR, STRIDE
from isa.config import MachineConfig

_Rank = tuple[int, int, int]
"""The rank of a cost (``Objective.rank``)."""
_Ranked = tuple[_Rank, Way]


class Selection:
    """Selects a plan of one group for one objective.

    With ``rows_only`` all parameters of a layer stay on chip, or none.
    """

    def __init__(
        self, config: MachineConfig, group: Group, objective: Objective, upwards: bool, rows_only: bool = False,
        wanted: GroupSchedule = FREE,
    ) -> None:  # fmt: skip
        self.config, self.group, self.objective, self.upwards, self.wanted = config, group, objective, upwards, wanted
        check_steps(wanted, max(group.tensors[name].height for name in group.outputs))
        self.stepping = Stepping(group, wanted.steps)
        # Where cycles alone count, blocks of a layer that stay would save bytes, but hardly ever time.
        partly = objective.byte > 0 and not rows_only
        self.candidates = Candidates(config, self.stepping, upwards, partly, wanted)
        self.bounds = Bounds(config, self.stepping)
        self.costs = Costs(config, self.bounds, self.stepping.batch)

    def in_tiles(self, cut: Cut | None) -> Plan | None:
        """The best plan with column tiles. For each number of channel passes it tries the fewest tiles that fit."""
        best: Plan | None = None
        for pieces in tiles(self.config, self.group, cut):
            # Narrower tiles fit where wider ones do.
            first = bisect_left(pieces, True, key=lambda parts: self.candidates.any_fits(parts.widest()))
            plans = (self.plan(parts, ()) for parts in pieces[first:] if self.candidates.any_fits(parts.widest()))
            plan = next((plan for plan in plans if plan is not None), None)
            if plan is not None and (best is None or self.objective.rank(plan.cost) < self.objective.rank(best.cost)):
                best = plan
        return best

    def plan(self, parts: Parts, held: Sequence[str], most: float = inf) -> Plan | None:
        """The best plan in these parts. All parts take the way that suits the widest of them. The maps ``held`` stay on chip.

        None: no plan fits, or all cost more than ``most`` cycles.
        """
        part, count, stepping = parts.part, parts.count, self.stepping
        shapes = [parts.shape(number) for number in range(count)]
        limit = inf
        if most < inf:
            # The first pass loads what the others find on chip; passes of one shape cost the same.
            equal = sum(shape == shapes[-1] for shape in shapes[1 if held else 0 :])
            others = self.bounds.beats(self.group) - equal * self.bounds.beats(parts.widest())
            limit = (most - others) / equal
        widest = parts.widest()
        way = self._way(widest, held, limit, count)
        if way is None:
            return None
        loads = [stepping.loads(number == 0, held) for number in range(count)]
        cost, reloaded = Cost(0, 0), 0
        known: dict[object, tuple[Cost, Residence]] = {}
        for number, shape in enumerate(shapes):
            alike = shape, held and number == 0, number if self.wanted.parameters else 0
            if alike not in known:
                found = self._stay(part(number), way, loads[number], held, number, count)
                if found is None:
                    return None
                known[alike] = found
            cost += known[alike][0]
            streams = known[alike][1].streams
            again = {name: stepping.rounds(way.ranges.working[name], held) - 1 for name in streams}
            reloaded += sum(size * again[name] for name, size in streams.items()) * (stepping.batch if held else 1)

        def make(number: int) -> Pass:
            group = part(number)
            found = self._stay(group, way, loads[number], held, number, count)
            assert found is not None
            placed = way.placed_for(self.config, group)
            return Pass(group, way.ranges, way.skew, placed, found[1], loads[number], way.in_turn)

        return Plan(
            self.group, count, parts.tiles, widest, way, self.upwards, held, cost, reloaded, make,
            self.objective, self.wanted,
        )  # fmt: skip

    def _way(self, group: Group, held: Sequence[str], most: float, count: int) -> Way | None:
        """The best way that fits on chip and costs at most ``most`` cycles. ``group`` is the last of ``count`` parts."""
        wanted = self.wanted
        if wanted.steps is not None and wanted.pipelined is not None and wanted.rings is not None:
            return self.candidates.way(group, wanted.steps, wanted.pipelined, held)
        best = self._best_way(group, held, most, count, None, shared=False)
        # Where cycles alone count, shared words hardly ever save any, and places are searched for at length.
        if (self.objective.byte or best is None) and wanted.rings is None and not wanted.pipelined:
            best = self._best_way(group, held, most, count, best, shared=True)
        return best[1] if best else None

    def _best_way(
        self, group: Group, held: Sequence[str], most: float, count: int, best: _Ranked | None, shared: bool
    ) -> _Ranked | None:  # fmt: skip
        """A way that is better than ``best``, or ``best`` itself. Maps have words of their own, or may share them (``shared``).

        Ways whose lower bound is no better than the best so far are not looked at.
        """
        loads = self.stepping.loads(False, held)
        tried = list(self._tried(group, held, loads, count, shared))
        # In a pass over some channels all cycles count.
        if group.partial and all(self.bounds.of_walk(group, each) > most for each in {found[-1]: None for found in tried}):
            return best
        alike: tuple[_Rank, int] | None = None
        ways: dict[tuple[int, bool], Way | None] = {}
        for floor, steps, _, residence in sorted(tried, key=lambda found: found[:3]):
            if (best is not None and (best[0] <= floor or (shared and best[0][0] <= floor[0]))) or floor[1] > most:
                break
            if alike is not None and alike[0] == floor and steps < STRIDE * alike[1]:
                continue
            for pipelined in self.candidates.orders(steps, shared):
                if (steps, pipelined) not in ways:
                    ways[steps, pipelined] = self.candidates.way(group, steps, pipelined, held, shared)
                way = ways[steps, pipelined]
                if way is None or not suits(way, residence):
                    continue
                limit = inf if best is None or self.objective.byte else best[0][0]
                within = inf if best is None else self.objective.cycles_within(best[0], floor[2])
                at_most = max(min(within, most), floor[1] * NEAR)
                cost = self.costs.of_pass(group, way, residence, loads, held, limit, at_most)
                alike = floor, steps
                if cost is not None:
                    if best is None or self.objective.rank(cost) < best[0]:
                        best = self.objective.rank(cost), way
                    if cost.cycles < floor[1] * NEAR:
                        break
        return best

    def _tried(
        self, group: Group, held: Sequence[str], loads: Sequence[str], count: int, shared: bool
    ) -> Iterator[tuple[_Rank, int, int, Residence]]:
        """Yields what to try: a lower bound of the rank, the number of steps, the residence's number and the residence."""
        words = self.bounds.word_bound(group, held)
        for steps in dropwhile(lambda steps: not words.may_hold(steps, shared), self.stepping.counts):
            for number, residence in enumerate(self.candidates.residences(group, steps, held, count - 1, count)):
                least = self.bounds.of_pass(group, steps, residence, loads, held)
                yield self.objective.rank(least), steps, number, residence

    def _stay(
        self, group: Group, way: Way, loads: Sequence[str], held: Sequence[str], number: int, count: int
    ) -> tuple[Cost, Residence] | None:
        """The best residence for pass ``number`` of ``count`` on this way, and the cost of the pass with it."""
        rank = self.objective.rank
        best: tuple[Cost, Residence] | None = None
        for residence in self.candidates.residences(group, way.ranges.steps, held, number, count):
            if suits(way, residence):
                least = self.bounds.of_pass(group, way.ranges.steps, residence, loads, held)
                within = inf if best is None else self.objective.cycles_within(rank(best[0]), least.dram_bytes)
                cost = self.costs.of_pass(group, way, residence, loads, held, most=within)
                if cost is not None and (best is None or rank(cost) < rank(best[0])):
                    best = cost, residence
        return best
