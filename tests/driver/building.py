"""The C programs of these tests: compiled with the driver as `tilewright driver` writes it, and run under sanitizers."""

from __future__ import annotations

import subprocess
from collections.abc import Sequence
from pathlib import Path

from compiler.quantise.arrays import read_arrays
from driver.sources import driver_files
from isa.config import preset
from isa.program import Program
from sim.rtl.board import BOARD_HEADER
from tests.e2e.network_runs import compiled

HERE = Path(__file__).parent / "c"
DEMO = Path(__file__).parents[2] / "demo"
NANO = preset("nano")
WARNINGS = ("-std=c99", "-Wall", "-Wextra", "-Wconversion", "-Wpedantic", "-Werror")
SANITIZERS = ("-g", "-O1", "-fsanitize=address,undefined", "-fno-sanitize-recover=all")
RACES = ("-g", "-O1", "-fsanitize=thread")
PATIENCE = 120


def write_driver(folder: Path) -> list[Path]:
    """The C files; the headers lie beside them."""
    for name, text in driver_files(NANO).items():
        (folder / name).write_text(text)
    return sorted(folder.glob("*.c"))


def build(
    folder: Path, main: str, *others: str, libraries: Sequence[str | Path] = (), sanitizers: Sequence[str] = SANITIZERS
) -> Path:
    """One of the programs in ``c``, with the driver."""
    sources = [*write_driver(folder), *(HERE / f"{name}.c" for name in ("harness", main, *others))]
    program = folder / main
    includes = ["-I", folder, "-I", HERE, "-I", BOARD_HEADER.parent]
    command = ["gcc", "-std=c99", *sanitizers, *map(str, [*includes, *sources, *libraries, "-o", program])]
    done = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE, check=False)
    assert done.returncode == 0, done.stderr
    return program


def run(program: Path, *arguments: object) -> str:
    """What it prints; that it ends well is the test."""
    command = [str(program), *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def digits() -> Program:
    """The demo's network on the smallest machine."""
    calibration = read_arrays(DEMO / "digits_calibration.npz")
    return compiled(DEMO / "digits.onnx", "nano", calibration=calibration).program
