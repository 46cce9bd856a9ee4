"""The least time of a batch, or of an image, on several machines that share DRAM, by the cycle model."""

from __future__ import annotations

from collections.abc import Sequence

from isa.program import MachineStep, Program
from sim.cycle.model import CycleModel, CycleResult


def batch_cycles(program: Program, images: int, cores: int, dram_bytes: int) -> int:
    """The least cycles of a batch, on machines that each take the next image when they are free.

    This is the longer of two times. The one is that of the machine with the most images, as if DRAM were its own. The other is
    that of DRAM for the bytes of all images, at ``dram_bytes`` a cycle (0: no limit). Machines that want DRAM in the same cycle
    wait besides.
    """
    runs = _runs(program, [step for step in program.run_order if isinstance(step, MachineStep)])
    alone = sum(run.cycles for run in runs) * -(-images // cores)
    return max(alone, _cycles_of_dram(program, runs, images, dram_bytes))


def shared_cycles(program: Program, dram_bytes: int) -> int:
    """The least cycles of one image on the machines that share it.

    Each phase takes as long as its slowest machine or as DRAM, whichever is longer. The host's work between phases is left out.
    """
    phases = [_runs(program, phase) for phase in program.phases if isinstance(phase, tuple)]
    return sum(max(_cycles_of_dram(program, runs, 1, dram_bytes), *(run.cycles for run in runs)) for runs in phases)


def _runs(program: Program, steps: Sequence[MachineStep]) -> list[CycleResult]:
    model = CycleModel(program.config)
    return [model.run(program.words[step.first_word : step.first_word + step.words], trace=False) for step in steps]


def _cycles_of_dram(program: Program, runs: Sequence[CycleResult], images: int, dram_bytes: int) -> int:
    moved = sum(run.read_beats + run.write_beats for run in runs) * program.config.axi_bytes * images
    return -(-moved // dram_bytes) if dram_bytes else 0
