"""The cycle model: the time of a program on the machine, instruction by instruction."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from isa.codec import Op
from isa.config import MachineConfig
from isa.instructions import Unit
from isa.registers import Counter
from sim.cycle.control import Executed, cycles_until_done, executed
from sim.cycle.costs import MoveCost
from sim.cycle.native.engine import native_execution
from sim.cycle.program import Costs, Program, from_ops, from_words
from sim.rtl.machine import TraceEvent

UNITS = tuple(Unit)
KEPT = 4
"""The programs of ``run_ops`` that are kept to compare others with."""


@dataclass(frozen=True)
class CycleResult:
    """The result of ``RtlResult`` without memory. ``WAIT_BANK`` counts lanes that meet; ``WAIT_DRAM`` is left out."""

    cycles: int
    read_beats: int
    write_beats: int
    counters: dict[Unit, dict[Counter, int]]
    ends: list[int]
    """The cycle in which each instruction is done, from START to END."""
    trace: list[TraceEvent] = field(default_factory=list)


class Times(NamedTuple):
    """The times of a program that a search needs."""

    cycles: int
    ends: list[int]
    """The cycle in which each instruction is done, as in ``CycleResult``."""


class CycleModel:
    """Runs programs at instruction granularity.

    Units, receivers, queues and the dispatcher are recurrences of integers, exact but for what happens within a cycle or two.
    DRAM is a fluid that both directions and instruction fetch share (``Bus``). No data is computed and no address is checked:
    the program is taken to be right. ``sim.cycle.native`` runs programs where there is a C++ compiler, else
    ``sim.cycle.control`` does. Both find the same.
    """

    def __init__(self, config: MachineConfig, *, native: bool = True) -> None:
        self.config = config
        self._execute = native_execution(config) if native else None
        self._known: deque[tuple[Program, Times]] = deque(maxlen=KEPT)
        self._costs: Costs = {}

    def run(self, program_words: Sequence[int], *, trace: bool = True) -> CycleResult:
        """Runs a binary, from START to END."""
        return self._run(from_words(self.config, program_words), trace)

    def run_ops(self, ops: Sequence[Op]) -> Times:
        """Runs decoded instructions without START and END, for a search, which asks often and needs times alone.

        A program that differs from an earlier one by addresses in DRAM alone takes as long, and is not run again.
        """
        program = from_ops(self.config, ops, self._costs)
        for before, times in self._known:
            if before == program:
                return times
        finishes = self._executed(program).finishes
        times = Times(cycles_until_done(program, finishes), finishes)
        self._known.append((program, times))
        return times

    def _executed(self, program: Program) -> Executed:
        return self._execute(program) if self._execute else executed(self.config, program)

    def _run(self, program: Program, trace: bool) -> CycleResult:
        starts, finishes, token_waits = self._executed(program)
        cycles = cycles_until_done(program, finishes)
        counters: list[dict[Counter, int]] = [dict.fromkeys(Counter, 0) for _ in UNITS]
        until = [-1] * len(UNITS)
        beats = [0] * len(UNITS)
        for unit, cost, start, finish, wait in zip(
            program.units, program.costs, starts, finishes, token_waits, strict=True
        ):
            if unit is None or cost is None:
                continue
            counts = counters[unit]
            counts[Counter.BUSY] += max(0, finish - max(start, until[unit]))
            until[unit] = max(until[unit], finish)
            counts[Counter.ACTIVE] += cost.active
            counts[Counter.WAIT_TOKEN] += wait
            if isinstance(cost, MoveCost):
                beats[unit] += cost.beats
            else:
                counts[Counter.WAIT_BANK] += cost.wait_bank
        beats[Unit.LOAD] += -(-program.words * 4 // self.config.axi_bytes)
        events = []
        if trace:
            events = [
                TraceEvent(UNITS[unit], pc, start, finish)
                for unit, pc, start, finish in zip(program.units, program.pcs, starts, finishes, strict=True)
                if unit is not None
            ]
            events.sort(key=lambda event: (event.start, event.unit))
        every = dict(zip(UNITS, counters, strict=True))
        return CycleResult(cycles, beats[Unit.LOAD], beats[Unit.SAVE], every, [*finishes], events)
