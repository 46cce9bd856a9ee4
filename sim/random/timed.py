"""Compares the time of a random program by the cycle model with its time in the Verilog."""

from __future__ import annotations

from sim.cycle.model import CycleModel
from sim.random.engines import Outcome, stalls_seed
from sim.random.memories import memory_of
from sim.random.program import RandomProgram
from sim.rtl.memory import dram_of

MOST_ERROR = 0.1
"""The most error, as a share of a program's cycles. Random programs are short, and their units contend more for banks and DRAM
than those of compiled programs, which are within 1 % (``bench.cycle_model_error``)."""


def wrong_cycles(program: RandomProgram, actual: Outcome, *, stalls: bool = True) -> str | None:
    """What is wrong with the cycles that the program took in the Verilog, in one line, or None.

    The cycle model knows only the memory of the figures, without stalls. Other runs are not judged.
    """
    quoted = not stalls or (stalls_seed(program) is None and memory_of(program) == dram_of(program.config))
    if actual.memory is None or not quoted:
        return None
    told = CycleModel(program.config).run(program.words).cycles
    if abs(told - actual.cycles) <= MOST_ERROR * actual.cycles:
        return None
    return f"{actual.cycles} cycles, but {told} by the cycle model: more than {MOST_ERROR:.0%} apart"
