"""The work of the system: the demo's network, held-out images, and the answers of Python's runtime on the RTL."""

from __future__ import annotations

import zlib
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from compiler.quantise.arrays import read_arrays
from isa.config import MachineConfig
from isa.program import Program
from sim.runtime.engine import make_engine
from sim.runtime.run import Run
from tilewright.compiling import compile_model

DEMO = Path(__file__).parents[1] / "demo"


@dataclass(frozen=True)
class Answer:
    """The answer for one image. The firmware prints the same."""

    number: int
    found: int
    """The class that was found."""
    checksum: int
    """The CRC-32 of all bits of the outputs."""
    cycles: int
    """The cycles of the machine, from start to done."""

    def __str__(self) -> str:
        return f"image {self.number}: class {self.found}, outputs {self.checksum:08x}, {self.cycles} cycles"


def digits_program(config: MachineConfig) -> Program:
    return compile_model(DEMO / "digits.onnx", config, calibration=read_arrays(DEMO / "digits_calibration.npz")).program


def digits_images(count: int) -> NDArray[np.float32]:
    images: NDArray[np.float32] = read_arrays(DEMO / "digits_test.npz")["image"][:count].astype(np.float32)
    return images


def answers(program: Program, images: NDArray[np.float32]) -> list[Answer]:
    """The answers for all images, on the RTL with the memory of the benches."""
    found = []
    for number in range(len(images)):
        run = Run(program, make_engine("rtl", program.config))
        scores = np.ascontiguousarray(run({"image": images[number : number + 1]})["logits"], "<f4")
        found.append(Answer(number, int(scores.argmax()), zlib.crc32(scores.tobytes()), run.measured.counted_cycles))
    return found
