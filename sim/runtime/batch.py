"""Runs the images of a batch on several machines. Whichever machine is free takes the next image."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain

from isa.errors import TilewrightError
from isa.faults import MachineFault
from isa.program import MachineStep, Program
from sim.runtime.board_engine import BoardEngine
from sim.runtime.chip import Chip
from sim.runtime.engine import Measured
from sim.runtime.image import Array
from sim.runtime.run import Run, at, check_inputs

BatchProgress = Callable[[int, int], None]
"""A function that is told the images done and the cycles so far."""


class BatchError(TilewrightError):
    """Raised when an image of a batch could not be run."""


@dataclass
class Batch:
    """The outputs of the images in their order, and what was measured."""

    outputs: list[dict[str, Array]]
    measured: list[Measured]
    """The measurements of each image."""
    cores: list[int]
    """The machine that each image ran on. Empty: all machines share each image."""
    busy: list[int]
    """The cycles in which each machine had a program."""
    cycles: int
    """The cycles from the first start to the last end, on the clock of all machines. They include the host's accesses to
    registers, but no parts on the CPU and no copies."""

    def idle(self, core: int) -> float:
        """The share of the time in which a machine had no program."""
        return 1 - self.busy[core] / self.cycles if self.cycles else 0.0

    def per_second(self, clock_mhz: float) -> float:
        """The images per second at that clock."""
        return len(self.outputs) * clock_mhz * 1e6 / self.cycles if self.cycles else 0.0


class _Image:
    """An image on its way through its program on one machine."""

    def __init__(self, program: Program, engine: BoardEngine, feed: Mapping[str, Array]) -> None:
        self.run = Run(program, engine)
        self._engine = engine
        self._steps = chain.from_iterable(self.run.phases(feed))
        self._step: MachineStep | None = None
        self._go_on()

    @property
    def over(self) -> bool:
        return self._step is None

    def look(self) -> None:
        """Goes on if the machine has ended its step."""
        if self._step is None:
            return
        with at(self._step):
            if not self._engine.ended():
                return
        self._engine.collect(self.run.image, self.run.measured)
        self._go_on()

    def _go_on(self) -> None:
        """Begins the next machine step, if there is one."""
        self._step = next(self._steps, None)
        if self._step is not None:
            self._engine.begin(self.run.words(self._step), self.run.image)


def run_batch(
    program: Program, chip: Chip, feeds: Sequence[Mapping[str, Array]], progress: BatchProgress | None = None
) -> Batch:
    """Runs all images. A fault is raised when the images on other machines have ended; no other image begins after it."""
    for feed in feeds:
        check_inputs(program.inputs, feed)
    waiting = deque(enumerate(feeds))
    running: dict[int, tuple[int, _Image]] = {}
    done: dict[int, tuple[_Image, int]] = {}
    wrong: BatchError | None = None
    start = chip.cycles
    while waiting or running:
        for core, engine in enumerate(chip.engines):
            if waiting and core not in running:
                number, feed = waiting.popleft()
                running[core] = number, _Image(program, engine, feed)
        changed = False
        for core, (number, image) in [*running.items()]:
            try:
                image.look()
            except MachineFault as fault:
                which = f"{number} of {len(feeds)}"
                wrong = wrong or BatchError(f"image {which}, on core {core}: {fault}; tilewright disasm shows the word")
                waiting.clear()
            else:
                if not image.over:
                    continue
                done[number] = image, core
            del running[core]
            changed = True
        if progress is not None:
            progress(len(done), chip.cycles - start)
        if running and not changed:
            chip.wait()
    if wrong:
        raise wrong
    images = [done[number] for number in range(len(feeds))]
    busy = [sum(image.run.measured.cycles or 0 for image, ran in images if ran == core) for core in range(len(chip.engines))]
    return Batch(
        [image.run.outputs for image, _ in images], [image.run.measured for image, _ in images], [core for _, core in images],
        busy, chip.cycles - start,
    )  # fmt: skip
