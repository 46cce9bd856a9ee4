"""The cycle model: a program's time on the machine, instruction by instruction."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from isa.codec import Op
from isa.config import MachineConfig
from isa.instructions import Unit
from isa.registers import Counter
from sim.cycle.control import Execution
from sim.cycle.costs import MoveCost
from sim.cycle.program import Program, from_ops, from_words
from sim.rtl.machine import TraceEvent


@dataclass(frozen=True)
class CycleResult:
    """What ``RtlResult`` says, but for memory; ``WAIT_BANK`` counts lanes that meet, ``WAIT_DRAM`` is left out."""

    cycles: int
    read_beats: int
    write_beats: int
    counters: dict[Unit, dict[Counter, int]]
    trace: list[TraceEvent] = field(default_factory=list)


class CycleModel:
    """Runs programs at instruction granularity.

    Units, receivers, queues and the dispatcher are recurrences of integers, exact but for what happens within
    a cycle or two. DRAM is a fluid that both directions and instruction fetch share (``Bus``). No data is computed and
    no address is checked: the program is taken to be right.
    """

    def __init__(self, config: MachineConfig) -> None:
        self.config = config

    def run(self, program_words: Sequence[int]) -> CycleResult:
        """Of a binary, from START to END."""
        return self._run(from_words(self.config, program_words))

    def run_ops(self, ops: Sequence[Op]) -> CycleResult:
        """Of decoded instructions without START and END."""
        return self._run(from_ops(self.config, ops))

    def _run(self, program: Program) -> CycleResult:
        execution = Execution(self.config, program)
        cycles = execution.run()
        starts, finishes = execution.starts, execution.finishes
        trace = []
        counters = {unit: dict.fromkeys(Counter, 0) for unit in Unit}
        until = [-1] * len(Unit)
        for index, unit in enumerate(program.units):
            cost = program.costs[index]
            if unit is None or cost is None:
                continue
            start, finish = starts[index], finishes[index]
            trace.append(TraceEvent(Unit(unit), program.pcs[index], start, finish))
            counts = counters[Unit(unit)]
            counts[Counter.BUSY] += max(0, finish - max(start, until[unit]))
            until[unit] = max(until[unit], finish)
            counts[Counter.ACTIVE] += cost.active
            counts[Counter.WAIT_TOKEN] += execution.token_waits[index]
        trace.sort(key=lambda event: (event.start, event.unit))
        moves = [(unit, cost.beats) for unit, cost in zip(program.units, program.costs, strict=True) if isinstance(cost, MoveCost)]
        reads = sum(beats for unit, beats in moves if unit == Unit.LOAD) + -(-program.words * 4 // self.config.axi_bytes)
        writes = sum(beats for unit, beats in moves if unit == Unit.SAVE)
        return CycleResult(cycles, reads, writes, counters, trace)
