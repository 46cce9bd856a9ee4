"""Dependency tokens for a sequence of instructions: those that the true hazards ask for, and no more.

Tokens between two units are only counted, so the k-th one given is the k-th one taken. Each unit therefore keeps what it knows
to be finished. An instruction waits for another unit's only if no earlier wait has already covered it. Such a wait is one of
its own unit, or (transitively) of the instruction that it waits for.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import replace
from typing import cast

import numpy as np
import numpy.typing as npt

from isa.codec import Op
from isa.config import MachineConfig
from isa.instructions import Unit
from sim.random.footprint import Dram, Footprint, Space, space_size


def unit_of(op: Op) -> Unit:
    return cast(Unit, op.row.unit)


def hazards(ops: Sequence[Op], footprints: Sequence[Footprint], config: MachineConfig, dram: Dram) -> list[dict[Unit, int]]:
    """For each instruction the last instruction of each unit that must be finished before it starts.

    Between units: read after write, write after read, write after write. Within a unit, which works in order: read after write
    only, and not through the accumulators.
    """
    last: dict[tuple[str, Unit, Space], npt.NDArray[np.int32]] = {}

    def marks(kind: str, unit: Unit, space: Space) -> npt.NDArray[np.int32]:
        key = (kind, unit, space)
        if key not in last:
            last[key] = np.full(space_size(space, config, dram), -1, np.int32)
        return last[key]

    needs: list[dict[Unit, int]] = []
    for number, (op, touched) in enumerate(zip(ops, footprints, strict=True)):
        own = unit_of(op)
        need: dict[Unit, int] = {}
        for unit in Unit:
            found = -1
            for space, cells in touched.reads.items():
                if cells.size and ("w", unit, space) in last and not (unit is own and space is Space.ACC):
                    found = max(found, int(last["w", unit, space][cells].max()))
            if unit is not own:
                for space, cells in touched.writes.items():
                    for kind in "rw":
                        if cells.size and (kind, unit, space) in last:
                            found = max(found, int(last[kind, unit, space][cells].max()))
            if found >= 0:
                need[unit] = found
        needs.append(need)
        for kind, cells_of in (("r", touched.reads), ("w", touched.writes)):
            for space, cells in cells_of.items():
                if cells.size:
                    marks(kind, own, space)[cells] = number
    return needs


def with_tokens(ops: Sequence[Op], needs: Sequence[dict[Unit, int]]) -> list[Op]:
    """The instructions with ``wait`` and ``signal`` set so that every need is met."""
    waits: list[set[Unit]] = [set() for _ in ops]
    signals: list[set[Unit]] = [set() for _ in ops]
    known: dict[Unit, dict[Unit, int]] = {unit: {} for unit in Unit}
    """For each unit the last instruction of every unit known to be finished when its newest instruction starts."""
    at_start: list[dict[Unit, int]] = []
    for number, op in enumerate(ops):
        own = unit_of(op)
        mine = known[own]
        for unit, wanted in sorted(needs[number].items(), key=lambda item: -item[1]):
            if mine.get(unit, -1) >= wanted:
                continue
            waits[number].add(unit)
            signals[wanted].add(own)
            for other, finished in [*at_start[wanted].items(), (unit, wanted)]:
                mine[other] = max(mine.get(other, -1), finished)
        at_start.append(dict(mine))
    return [replace(op, wait=frozenset(w), signal=frozenset(s)) for op, w, s in zip(ops, waits, signals, strict=True)]


def serial_needs(ops: Sequence[Op]) -> list[dict[Unit, int]]:
    """The needs with which every instruction waits for the one before it."""
    return [{unit_of(ops[n - 1]): n - 1} if n else {} for n in range(len(ops))]


def more_needs(ops: Sequence[Op], needs: Sequence[dict[Unit, int]], rng: random.Random, share: float) -> list[dict[Unit, int]]:
    """The needs, with one more for some of the instructions that no hazard asks for."""
    result = [dict(need) for need in needs]
    for number in range(1, len(ops)):
        if rng.random() < share:
            other = rng.randrange(number)
            unit = unit_of(ops[other])
            result[number][unit] = max(result[number].get(unit, -1), other)
    return result
