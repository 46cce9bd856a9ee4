"""Race detector: finds conflicting accesses that no dependency token puts in order.

Each unit carries a vector clock: how many instructions of every unit are known to be complete when its next one starts. A token
carries the clock of its giver, completed by the giver itself. A unit completes in order, so the n-th token taken is the n-th
one given. Within a unit, writes stay in order, and reads of an earlier instruction precede writes of a later one. A read may
overtake an earlier write, so it needs a token as it does between units.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from isa.codec import Op
from isa.config import MachineConfig
from isa.dispatched import check_rules, following, instructions
from isa.instructions import Region, Unit
from sim.functional.addresses import Ints
from sim.functional.footprint import Footprint, Runs, Space, footprint, lowest_common, overlaps_itself
from sim.functional.tokens import TokenCounters, unit_of

Clock = list[int]


@dataclass(frozen=True)
class Race:
    """Two instructions that may touch a location in either order, or one that destroys its own operands."""

    kind: str
    """RAW, WAR or WAW, named after the program order; OVERLAP within one instruction."""
    first_pc: int
    second_pc: int
    first: str
    second: str
    space: Space
    location: int
    """The lowest location in conflict."""

    def __str__(self) -> str:
        second = f"{self.kind} on {self.space.value} {self.location}: {self.second} at word {self.second_pc}"
        if self.kind == "OVERLAP":
            return f"{second} overwrites its own operand"
        return f"{second} does not wait for {self.first} at word {self.first_pc}"


@dataclass(frozen=True)
class _Step:
    """One instruction of a unit: its place in the unit's order (from 1), and what it knows to be complete."""

    op: Op
    pc: int
    place: int
    known: Clock
    touched: Footprint


def find_races(program: Sequence[int] | bytes, config: MachineConfig, bases: Mapping[Region, int]) -> Iterator[Race]:
    """Yields every pair of unsynchronised conflicting instructions, in the program order of the second.

    The program must be legal and sequential (``docs/reference/semantics.md``). Anything else raises ``MachineFault``.
    """
    steps = list(_timed(program, config, bases))
    lines = {space: _Segments(space, steps) for space in Space}
    history: dict[Unit, list[_Step]] = {unit: [] for unit in Unit}
    for step in steps:
        if overlaps_itself(step.op, step.touched, config):
            reads, writes = step.touched.reads[Space.FEATURE_MAP], step.touched.writes[Space.FEATURE_MAP]
            place = lowest_common(reads, writes) or 0
            yield Race("OVERLAP", step.pc, step.pc, step.op.name, step.op.name, Space.FEATURE_MAP, place)
        shared = [lines[space] for space in step.touched.reads.keys() | step.touched.writes.keys()]
        suspects = {unit for line in shared for unit in line.met(step)}
        for unit in sorted(suspects):
            for earlier in history[unit][step.known[unit] :]:
                yield from _conflicts(earlier, step)
        history[unit_of(step.op)].append(step)


def _timed(program: Sequence[int] | bytes, config: MachineConfig, bases: Mapping[Region, int]) -> Iterator[_Step]:
    """The instructions of the units with their clocks."""
    complete = {region: bases.get(region, 0) for region in Region}
    counters = TokenCounters()
    tokens: dict[tuple[Unit, Unit], deque[Clock]] = {(giver, taker): deque() for giver in Unit for taker in Unit}
    clocks: dict[Unit, Clock] = {unit: [0] * len(Unit) for unit in Unit}
    places = dict.fromkeys(Unit, 0)
    for op, pc in instructions(program, config):
        if op.row.unit is None:
            continue
        check_rules(op, pc, config)
        counters.exchange(op, pc, following(program, config, pc))
        unit = unit_of(op)
        known = clocks[unit]
        for giver in op.wait:
            known = [max(pair) for pair in zip(known, tokens[giver, unit].popleft(), strict=True)]
        clocks[unit] = known
        places[unit] += 1
        done = [places[unit] if other is unit else count for other, count in zip(Unit, known, strict=True)]
        for taker in op.signal:
            tokens[unit, taker].append(done)
        yield _Step(op, pc, places[unit], known, footprint(op, config, complete, pc))


class _Segments:
    """The last access and the last write of each unit, for every segment between two ends of ranges of a space."""

    def __init__(self, space: Space, steps: list[_Step]) -> None:
        self.space = space
        accesses = (accesses for step in steps for accesses in (step.touched.reads, step.touched.writes))
        ends = [accesses[space].ravel() for accesses in accesses if space in accesses]
        self.ends = np.unique(np.concatenate(ends)) if ends else np.empty(0, dtype=np.int64)
        self.last_access = np.zeros((len(Unit), self.ends.size), dtype=np.int32)
        self.last_write = np.zeros((len(Unit), self.ends.size), dtype=np.int32)

    def met(self, step: _Step) -> list[Unit]:
        """Finds units with a conflicting access that ``step`` does not know to be complete, and notes what ``step`` touches."""
        unit, known = unit_of(step.op), np.array(step.known)[:, None]
        reads, writes = self._segments(step.touched.reads), self._segments(step.touched.writes)
        late = (self.last_access[:, writes] > known).any(axis=1) & (np.arange(len(Unit)) != unit)
        late = late | (self.last_write[:, reads] > known).any(axis=1)
        self.last_access[unit, reads] = step.place
        self.last_access[unit, writes] = step.place
        self.last_write[unit, writes] = step.place
        return [Unit(int(number)) for number in np.flatnonzero(late)]

    def _segments(self, accesses: dict[Space, Runs]) -> Ints | slice:
        if self.space not in accesses:
            return slice(0)
        first, past = np.searchsorted(self.ends, accesses[self.space]).T
        if first.size == 1:
            return slice(first[0], past[0])
        lengths = past - first
        return np.repeat(first - np.concatenate([[0], np.cumsum(lengths)[:-1]]), lengths) + np.arange(lengths.sum())


def _conflicts(earlier: _Step, later: _Step) -> Iterator[Race]:
    """The conflicts of two instructions that nothing orders but their unit, if they have the same one."""
    pairs = [("RAW", earlier.touched.writes, later.touched.reads)]
    if unit_of(earlier.op) is not unit_of(later.op):
        pairs.append(("WAR", earlier.touched.reads, later.touched.writes))
        pairs.append(("WAW", earlier.touched.writes, later.touched.writes))
    for kind, before, after in pairs:
        for space in Space:
            if space in before and space in after:
                place = lowest_common(before[space], after[space])
                if place is not None:
                    yield Race(kind, earlier.pc, later.pc, earlier.op.name, later.op.name, space, place)
