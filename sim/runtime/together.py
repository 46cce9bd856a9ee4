"""Runs the images of a batch one after the other, each on all machines of a chip, phase by phase."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from isa.faults import MachineFault
from isa.program import MachineStep, Program
from sim.runtime.batch import Batch, BatchError, BatchProgress
from sim.runtime.chip import Chip, CommonMemory
from sim.runtime.image import Array
from sim.runtime.run import Run, at, check_inputs


def run_together(
    program: Program, chip: Chip, memory: CommonMemory, feeds: Sequence[Mapping[str, Array]],
    progress: BatchProgress | None = None,
) -> Batch:  # fmt: skip
    """Runs all images. A fault is raised when the other machines have ended their part of the phase."""
    for feed in feeds:
        check_inputs(program.inputs, feed)
    start, batch = chip.cycles, Batch([], [], [], [0] * len(chip.engines), 0)
    for number, feed in enumerate(feeds):
        run, begin = Run(program, chip.engines[0]), chip.cycles
        for phase in run.phases(feed):
            try:
                _execute(run, chip, memory, phase)
            except MachineFault as fault:
                raise BatchError(f"image {number} of {len(feeds)}: {fault}; tilewright disasm shows the word") from None
            for step, cycles in zip(phase, run.measured.steps[-len(phase) :], strict=True):
                batch.busy[step.core] += cycles
            if progress is not None:
                progress(number, chip.cycles - start)
        run.measured.cycles = chip.cycles - begin
        batch.outputs.append(run.outputs)
        batch.measured.append(run.measured)
    batch.cycles = chip.cycles - start
    return batch


def _execute(run: Run, chip: Chip, memory: CommonMemory, phase: Sequence[MachineStep]) -> None:
    """Runs each step on its machine until all have ended; raises the first fault."""
    bases = memory.put(run.image)
    for step in phase:
        chip.engines[step.core].begin(run.words(step), run.image, bases)
    running = list(phase)
    faults: list[MachineFault] = []
    while running:
        left = [step for step in running if not _ended(chip, step, faults)]
        if left == running:
            chip.wait()
        running = left
    if faults:
        raise faults[0]
    for step in phase:
        chip.engines[step.core].count(run.measured)
    memory.collect(run.image, bases)


def _ended(chip: Chip, step: MachineStep, faults: list[MachineFault]) -> bool:
    """Whether the step is done, or has stopped for a fault, which is added to ``faults``."""
    try:
        with at(step):
            return chip.engines[step.core].ended()
    except MachineFault as fault:
        faults.append(fault)
        return True
