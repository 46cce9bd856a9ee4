"""The timing of a program, from the cycle model or from a run on the RTL."""

from __future__ import annotations

from pathlib import Path

from compiler.quantise.arrays import read_arrays
from isa.errors import TilewrightError
from isa.program import Program
from tilewright.inputs import random_inputs
from tilewright.profile.activity import Timing, modelled
from tilewright.progress import stage_reporter
from tilewright.running import run_program


def timing_of(program: Program, engine: str, source: Path | None, *, quiet: bool = False) -> Timing:
    """The timing of a program. ``engine``: ``cycle`` or ``rtl``. The RTL's timing does not depend on the data, so inputs may be
    random.

    Refuses a program whose images several cores share, since views of units over time show those of one core.
    """
    if program.cores > 1:
        raise TilewrightError(
            f"program: {program.cores} cores share each image, and times of instructions are told of one; "
            "compile it again without --cores"
        )
    with stage_reporter(quiet=quiet) as report:
        if engine == "cycle":
            report("cycle model")
            return modelled(program)
        inputs = read_arrays(source) if source else random_inputs(program)
        report("run on rtl")
        measured = run_program(program, inputs, "rtl", trace=True, progress=report).measured
        return Timing("RTL", measured.counted_cycles, measured.trace, measured.steps)
