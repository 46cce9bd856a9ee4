"""What each group of a program takes behind the one before it, by the walk, and by all that whole programs have told since.

The walk (``planning/behind.py``) tells of any two groups what the second takes behind the first, in a millisecond, and where no
units meet in banks within a few hundredths. A program that was timed on the cycle model tells exactly what each of its groups
took. What a group took beyond the walk it is taken to take behind others, too: units meet in banks within a group, not between
two. Of groups that were in no program yet the walk's time is a hope; what their operations took in other groups is a fear.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from itertools import pairwise
from statistics import fmean

from compiler.fusion.legal import Mask, bits_of
from compiler.memory.storage import kin_of
from compiler.planning.behind import Row
from compiler.planning.plan import Plan
from compiler.planning.plans import KnownPlans, plan_at
from compiler.planning.running_order import ordered_groups
from compiler.search.cost import Evaluator
from compiler.stretches import Stretch
from compiler.xgraph.ops import Cpu, Op

FEW = 16
"""Pairs that are walked before another process would have been started for them."""


class Neighbours:
    """Steps of programs as masks, CPU parts behind the machine's operations."""

    def __init__(self, evaluator: Evaluator) -> None:
        self.evaluator = evaluator
        self._known: KnownPlans = {}
        self._pairs: dict[tuple[Mask, Mask], Hashable] = {}
        """What is equal for pairs of equal shapes, joined in the same way."""
        self._rows: dict[Mask, Row] = {}
        """Machines that have done a group, or nothing, from rest."""
        self._walked: dict[Hashable, int] = {}
        self._walkers = evaluator.crew.team(self._walk)
        self._took: dict[Hashable, int] = {}
        """Pairs that were in a program."""
        self._beyond: dict[Hashable, int] = {}
        """Of groups, by their shapes: what they took last beyond the walk."""
        self._slower: dict[int, dict[Hashable, float]] = {}
        """Of operations, by their geometries: so many times as long as by the walk took the groups that they were in."""
        ops = evaluator.sets.ops
        self._bit: dict[Op, Mask] = {op: 1 << n for n, op in enumerate(ops)}
        cpu = [op for op in evaluator.graph.ops if isinstance(op, Cpu)]
        self._cpu = {1 << n: op for n, op in enumerate(cpu, len(ops))}
        self._bit |= {op: mask for mask, op in self._cpu.items()}
        self._machine = (1 << len(ops)) - 1

    def path(self, groups: Sequence[Sequence[Op]]) -> tuple[Mask, ...]:
        """In the order of the program."""
        cpu = ((op,) for op in self.evaluator.graph.ops if isinstance(op, Cpu))
        return tuple(sum(self._bit[op] for op in group) for group in ordered_groups(self.evaluator.graph, [*groups, *cpu]))

    def steps(self, path: Sequence[Mask], start: int = 0, stop: int | None = None) -> list[Plan | Cpu]:
        """Those from ``start`` up to ``stop``, as they are in the whole program."""
        return [self._step(path[number], number % 2 == 0) for number in range(len(path))[start:stop]]

    def groups(self, path: Sequence[Mask]) -> list[Mask]:
        """Those of the machine."""
        return [mask & self._machine for mask in path if mask & self._machine]

    def hoped(self, first: Mask, second: Mask) -> int:
        """Cycles of the second behind the first, at best where it was in no program; 0 before the first group of all.

        The machine rests before and during a CPU part. Pairs of equal shapes, joined in the same way, take equally long.
        """
        first, second = first & self._machine, second & self._machine
        if not second:
            return 0
        took = self._took.get(self._pair(first, second))
        return self.walked(first, second) + self._beyond.get(self._shape(second), 0) if took is None else took

    def feared(self, first: Mask, second: Mask) -> int:
        """The same, at worst: slower than the walk by as much as its operations were in the programs so far, in the mean."""
        hoped = self.hoped(first, second)
        group = second & self._machine
        if not group or self._shape(group) in self._beyond:
            return hoped
        beats = self.evaluator.floors.beats.values()
        geometries = self.evaluator.shapes.numbers
        weights, slower = 0.0, 0.0
        for n in bits_of(group):
            weight = max(values[n] for values in beats)
            seen = self._slower.get(geometries[n])
            weights += weight
            slower += weight * (fmean(seen.values()) if seen else 1.0)
        return int(hoped * max(1.0, slower / weights)) if weights else hoped

    def walked(self, first: Mask, second: Mask) -> int:
        """By the walk alone."""
        pair = self._pair(first, second)
        if pair not in self._walked:
            self._walked[pair] = self._walk((first, second))
        return self._walked[pair]

    def walk_ahead(self, pairs: Iterable[tuple[Mask, Mask]]) -> None:
        """All that will be asked for, in this order: those that are not known yet are walked by all of the crew."""
        missing: dict[Hashable, tuple[Mask, Mask]] = {}
        for first, second in pairs:
            both = first & self._machine, second & self._machine
            pair = self._pair(*both)
            if both[1] and pair not in self._walked:
                missing.setdefault(pair, both)
        if len(missing) >= FEW:
            self._walked.update(zip(missing, self._walkers.each([*missing.values()]), strict=True))

    def _walk(self, pair: tuple[Mask, Mask]) -> int:
        first, second = pair
        if first not in self._rows:
            self._rows[first] = Row(self.evaluator.config, kin_of(self.evaluator.graph))
            if first:
                self._rows[first].add(self._plan(first, upwards=True))
        row = self._rows[first].copy()
        before = round(row.end)
        return row.add(self._plan(second, upwards=False)) - before

    def unknown(self, path: Sequence[Mask]) -> list[bool | None]:
        """Of each group whether it was in no program behind the one before it, nor is earlier in this; of CPU parts None."""
        machine = [mask & self._machine for mask in path]
        known, found = set(self._took), list[bool | None]()
        for pair in pairwise((0, *machine)):
            key = self._pair(*pair)
            found.append(key not in known if pair[1] else None)
            known.add(key)
        return found

    def note(self, path: Sequence[Mask], asked: Sequence[bool | None], part: Stretch, ends: Sequence[int]) -> None:
        """A stretch was timed, from a machine at rest. ``ends``: when each of its groups is done, and all before it.

        Only what was asked for is learned: groups around that are there for their sake.
        """
        geometries = self.evaluator.shapes.numbers
        for place, after in enumerate(ends):
            number = part.start + place
            if not asked[number]:
                continue
            first, second = (path[number - 1] & self._machine if number else 0), path[number] & self._machine
            took = after - (ends[place - 1] if place else 0)
            pair, walked = self._pair(first, second), self.walked(first, second)
            self._took[pair] = took
            self._beyond[self._shape(second)] = took - walked
            for n in bits_of(second):
                self._slower.setdefault(geometries[n], {})[pair] = took / max(1, walked)

    def _shape(self, group: Mask) -> Hashable:
        return self.evaluator.shapes.key(group)

    def _pair(self, first: Mask, second: Mask) -> Hashable:
        """The first is 0 where the machine rests before."""
        pair = first, second
        if pair not in self._pairs:
            self._pairs[pair] = self.evaluator.shapes.together([first, second] if first else [second])
        return self._pairs[pair]

    def _step(self, mask: Mask, upwards: bool) -> Plan | Cpu:
        return self._plan(mask, upwards) if mask & self._machine else self._cpu[mask]

    def _plan(self, mask: Mask, upwards: bool) -> Plan:
        evaluator = self.evaluator
        ops = tuple(evaluator.sets.members(mask))
        known, scheme = self._known, evaluator.scheme_of(mask)
        return plan_at(evaluator.config, evaluator.graph, ops, upwards, known, wanted=evaluator.wanted, scheme=scheme)
