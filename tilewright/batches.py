"""Batches of images on the machines of one chip."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from compiler.search.progress import Progress
from isa.cores import check_count, dram_bytes
from isa.errors import TilewrightError
from isa.program import Program
from sim.rtl.memory import Dram
from sim.runtime.batch import Batch, BatchProgress, run_batch
from sim.runtime.chip import shared_chip, simulated_chip
from sim.runtime.engine import FunctionalEngine
from sim.runtime.run import Run
from sim.runtime.together import run_together
from tilewright.inputs import Array
from tilewright.progress import share_done

BATCH_ENGINES = ("functional", "rtl")


def checked_cores(program: Program, engine: str, cores: int) -> int:
    """Returns ``cores`` if the engine has so many machines, and the program is for as many, or for one."""
    check_count(cores)
    if cores > 1 and engine not in BATCH_ENGINES:
        raise TilewrightError(f"cores {cores}: engine {engine!r} has one; choose {' or '.join(BATCH_ENGINES)}")
    if cores > 1 and program.cores not in (1, cores):
        raise TilewrightError(
            f"cores {cores}: the program is for {program.cores}, which share each image; give {program.cores}, or 1"
        )
    return cores


def run_on_chip(
    program: Program, cores: int, feeds: Sequence[Mapping[str, Array]], progress: BatchProgress | None = None
) -> Batch:
    """Runs a batch on the Verilog of ``cores`` machines, which share the DRAM of the configuration's chip. Those of a program
    for as many cores share each image."""
    dram = Dram(total=dram_bytes(program.config))
    if cores > 1 and program.cores > 1:
        with shared_chip(program, dram=dram) as (chip, memory):
            return run_together(program, chip, memory, feeds, progress)
    with simulated_chip(program, cores, dram=dram) as chip:
        return run_batch(program, chip, feeds, progress)


def functional_batch(program: Program, feeds: Sequence[Mapping[str, Array]]) -> list[dict[str, Array]]:
    """Runs one image after the other. The number of machines changes no bit."""
    return [Run(program, FunctionalEngine(program.config))(feed) for feed in feeds]


def split(program: Program, arrays: Mapping[str, Array]) -> list[dict[str, Array]]:
    """The inputs of each image, from arrays whose first axes hold a batch. Each array holds as many images as the others."""
    counts = {tensor.name: _count(tensor.name, tensor.shape, arrays) for tensor in program.inputs}
    if len({*counts.values()}) > 1:
        told = ", ".join(f"{name} of {count}" for name, count in counts.items())
        raise TilewrightError(f"inputs of a batch: {told} images; give the same number of each")
    number = next(iter(counts.values()), 1)
    extra = {name: value for name, value in arrays.items() if name not in counts}
    parts = {tensor.name: np.split(np.asarray(arrays[tensor.name]), number) for tensor in program.inputs}
    return [{**{name: part[image] for name, part in parts.items()}, **extra} for image in range(number)]


def joined(outputs: Sequence[Mapping[str, Array]]) -> dict[str, Array]:
    """The outputs of the images joined on their first axes. Those without axes get one."""
    return {name: np.concatenate([np.atleast_1d(one[name]) for one in outputs]) for name in outputs[0]}


def _count(name: str, shape: Sequence[int], arrays: Mapping[str, Array]) -> int:
    """The images in an input. It is 1 where the run itself says what is wrong with the input."""
    if name not in arrays or not shape:
        return 1
    given = np.asarray(arrays[name])
    if given.ndim == 0 or given.shape[0] == 0 or given.shape[0] % shape[0]:
        first = given.shape[0] if given.ndim else "no axes"
        raise TilewrightError(f"input {name!r}: {first} is no multiple of the {shape[0]} that an image has on the first axis")
    return int(given.shape[0] // shape[0])


def batch_progress(images: int, progress: Progress) -> BatchProgress:
    """A function that turns the progress of a batch into a line."""
    since = time.perf_counter()

    def told(done: int, cycles: int) -> None:
        seconds = time.perf_counter() - since
        progress(share_done("RTL simulation of the batch", done, images, seconds, f"{cycles / seconds:.0f} cycles/s"))

    return told


def lines(batch: Batch, cores: int, clock_mhz: float) -> Iterator[str]:
    """The lines with what was measured."""
    count = len(batch.outputs)
    yield f"{count} images in {batch.cycles} cycles: {batch.per_second(clock_mhz):.1f} images/s at {clock_mhz} MHz"
    for core in range(cores):
        images = f"{batch.cores.count(core)} images" if batch.cores else "a part of each image"
        yield f"core {core}: {images}, idle {batch.idle(core):.0%} of the time"
