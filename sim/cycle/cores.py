"""How long a batch takes on several machines that share DRAM, by the cycle model: at least."""

from __future__ import annotations

from isa.program import MachineStep, Program
from sim.cycle.model import CycleModel


def batch_cycles(program: Program, images: int, cores: int, dram_bytes: int) -> int:
    """Cycles of a batch, on machines that each take the next image when they are free.

    The longer of two: what the machine with most images takes, as if DRAM were its own, and what DRAM takes for the bytes of
    all images at ``dram_bytes`` a cycle (0: as many as all ask for). Machines that want DRAM in the same cycles wait besides.
    """
    model = CycleModel(program.config)
    steps = [step for step in program.run_order if isinstance(step, MachineStep)]
    runs = [model.run(program.words[step.first_word : step.first_word + step.words], trace=False) for step in steps]
    alone = sum(run.cycles for run in runs) * -(-images // cores)
    moved = sum(run.read_beats + run.write_beats for run in runs) * program.config.axi_bytes * images
    return max(alone, -(-moved // dram_bytes) if dram_bytes else 0)
