"""Finds the partition whose program is fastest.

The search adds up costs of groups. How neighbouring groups overlap shows only in a program. So several partitions are timed as
programs on the cycle model:

- the partition with the least sum of cycles;
- the best partitions where each group costs some cycles more or less (``CHARGES``);
- the best partitions where bytes count a little, or alone.

A timed program tells what each group takes behind the group before it. ``splice.py`` puts the best mixture of the partitions
together from these costs. The mixture is timed, which corrects the costs, until the best mixture is one that was timed or the
effort is used up. A program that is too long to be timed (``Effort.longest``) is the partition with the least sum of cycles.
"""

from __future__ import annotations

from collections.abc import Sequence

from compiler.fusion.legal import Mask
from compiler.planning.objective import CYCLES, DRAM, LEAN
from compiler.planning.plan import Plan
from compiler.planning.plan_partition import KnownPlans, plan_at
from compiler.planning.running_order import ordered_groups
from compiler.programs.natives import prepare
from compiler.programs.splice import Path, splice
from compiler.programs.timing import spent_by
from compiler.search.best import best, best_of_weighed, plan_promising, plan_short
from compiler.search.cost import Evaluator, Groups
from compiler.search.effort import turns_of
from compiler.search.partition import made_of, partition_by, price_of
from compiler.tuned import CHARGES, MARGIN
from compiler.xgraph.ops import Cpu, Op


def fastest(evaluator: Evaluator) -> list[Plan | Cpu]:
    """The steps of the fastest program found."""
    programs = Programs(evaluator)
    cheapest = programs.path(partition_by(best, evaluator.graph, evaluator, CYCLES).groups)
    steps = programs.steps(cheapest)
    if not evaluator.effort.times(steps):
        return steps
    evaluator.told("search: partitions that may make faster programs")
    near = contenders(programs, cheapest)
    if len(near) == 1:
        return steps
    prepare(evaluator.told, turns_of(steps))
    evaluator.told(f"search: {len(near)} programs are timed")
    programs.time(near)
    for number in range(evaluator.effort.mixtures):
        mixture = splice(near, programs.behind)
        if mixture in programs.cycles:
            break
        evaluator.told(f"search: mixture {number + 1} of at most {evaluator.effort.mixtures} is timed")
        programs.time([mixture])
    return programs.steps(min(programs.cycles, key=programs.cycles.__getitem__))


class Programs:
    """The programs of one graph, as paths of masks, and what was learned of them.

    In a mask, CPU parts have the bits behind those of the machine's operations.
    """

    def __init__(self, evaluator: Evaluator) -> None:
        self.evaluator = evaluator
        self.cycles: dict[Path, int] = {}
        """The cycles of the programs that were timed."""
        self._took: dict[tuple[Mask, Mask], int] = {}
        """The cycles that the second of two groups took behind the first."""
        self._last: dict[Mask, int] = {}
        """The cycles that a group took in the last timed program that has it."""
        self._known: KnownPlans = {}
        ops = evaluator.sets.ops
        self._bit: dict[Op, Mask] = {op: 1 << n for n, op in enumerate(ops)}
        cpu = [op for op in evaluator.graph.ops if isinstance(op, Cpu)]
        self._cpu = {1 << n: op for n, op in enumerate(cpu, len(ops))}
        self._bit |= {op: mask for mask, op in self._cpu.items()}
        self._team = evaluator.crew.team(self._timed)

    def path(self, groups: Groups) -> Path:
        """The path of a partition: its groups and the CPU parts in the order of the program."""
        whole = self.evaluator.whole(groups)
        ordered = ordered_groups(self.evaluator.graph, [*whole, *((op,) for op in self._cpu.values())])
        return tuple(sum(self._bit[op] for op in group) for group in ordered)

    def steps(self, path: Path) -> list[Plan | Cpu]:
        """The steps of a path. Neighbouring groups lie at opposite ends of the buffer."""
        return [self._cpu.get(mask) or self._plan(mask, number % 2 == 0) for number, mask in enumerate(path)]

    def price(self, path: Path) -> int:
        """The sum of the cycles of the path's groups, each by itself."""
        return sum(price_of(self.evaluator, CYCLES, mask) for mask in path if mask not in self._cpu)

    def time(self, paths: Sequence[Path]) -> None:
        """Times the paths with all processes, and keeps the cycles that each group takes behind the one before."""
        for path, (cycles, spent) in zip(paths, self._team.each(paths), strict=True):
            self.cycles[path] = cycles
            taken = iter(spent)
            for before, mask in zip((0, *path), path, strict=False):
                self._last[mask] = self._took[before, mask] = 0 if mask in self._cpu else next(taken)

    def behind(self, first: Mask, second: Mask) -> int:
        """The cycles that ``second`` took behind ``first``; if no timed program has that pair, behind another group."""
        return self._took.get((first, second), self._last[second])

    def _timed(self, path: Path) -> tuple[int, list[int]]:
        return spent_by(self.evaluator.config, self.evaluator.graph, self.steps(path))

    def _plan(self, mask: Mask, upwards: bool) -> Plan:
        evaluator = self.evaluator
        ops = tuple(evaluator.sets.members(mask))
        known, scheme = self._known, evaluator.scheme_of(mask)
        return plan_at(evaluator.config, evaluator.graph, ops, upwards, known, wanted=evaluator.wanted, scheme=scheme)


def contenders(programs: Programs, cheapest: Path) -> list[Path]:
    """The partitions that are worth timing as programs, the one with the least sum of cycles first."""
    evaluator = programs.evaluator
    plan_short(evaluator, CYCLES)
    by_bytes = evaluator.planning_for(CYCLES)

    def charged(charge: int) -> list[Mask] | None:
        return best_of_weighed(by_bytes, CYCLES, charge)

    chosen = evaluator.crew.team(charged).each(CHARGES)
    for objective in (LEAN, DRAM):
        plan_promising(by_bytes, objective)
        chosen.append(best_of_weighed(by_bytes, objective))
    paths = {programs.path(made_of(by_bytes, CYCLES, masks).groups) for masks in chosen if masks is not None}
    prices = {path: programs.price(path) for path in {cheapest, *paths}}
    limit = (1 + MARGIN) * min(prices.values())
    return sorted((path for path, price in prices.items() if price <= limit), key=lambda path: (prices[path], path))
