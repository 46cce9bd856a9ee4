"""Runs a program on an engine, once."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass

from compiler.search.progress import Progress
from isa.instructions import Unit
from isa.program import Program
from sim.runtime.engine import CycleProgress, Measured, make_engine
from sim.runtime.run import Run, run_on_cpu
from tilewright.inputs import Array
from tilewright.profile.activity import runs
from tilewright.progress import share_done

NAMES = {"rtl": "RTL", "functional": "functional"}


@dataclass(frozen=True)
class Result:
    """The outputs of a run, and what was measured, where the engine measures."""

    outputs: dict[str, Array]
    measured: Measured


def run_program(
    program: Program, inputs: Mapping[str, Array], engine: str = "functional", *, trace: bool = False,
    progress: Progress | None = None,
) -> Result:  # fmt: skip
    """Runs a program on ``functional``, ``rtl`` or ``cpu`` (onnxruntime on the quantised model)."""
    if engine == "cpu":
        return Result(run_on_cpu(program, inputs), Measured())
    told = None if progress is None else cycle_progress(program, engine, progress)
    run = Run(program, make_engine(engine, program.config, trace=trace, progress=told))
    return Result(run(inputs), run.measured)


def cycle_progress(program: Program, engine: str, progress: Progress) -> CycleProgress:
    """A function that turns an engine's progress into a line: how far, how fast, how long still.

    The RTL tells cycles (the cycle model knows how many there will be), the functional simulator words of the program.
    """
    since = time.perf_counter()
    total = 0
    if engine == "rtl":
        progress("RTL simulation; the first one of a machine builds its simulator, which takes a minute or two")

    def told(done: int) -> None:
        nonlocal total
        total = total or (estimated_cycles(program) if engine == "rtl" else len(program.words))
        seconds = time.perf_counter() - since
        speed = f"{done / seconds:.0f} cycles/s" if engine == "rtl" else ""
        progress(share_done(f"{NAMES[engine]} simulation", done, total, seconds, speed))

    return told


def estimated_cycles(program: Program) -> int:
    """The cycles of all machine steps, by the cycle model."""
    return sum(result.cycles for _, result in runs(program))


def stalls(measured: Measured) -> dict[str, dict[str, int]]:
    """The counters by unit and cause, as printed."""
    return {
        unit.name: {counter.name: value for counter, value in counters.items()}
        for unit, counters in measured.counters.items()
        if isinstance(unit, Unit)
    }
