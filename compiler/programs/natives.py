"""Builds the parts of the compiler that are C++ libraries: the cycle model and scheduling.

    python -m compiler.programs.natives

builds them, as `make` does. Otherwise the first compilation of a large network builds them, which takes some seconds. Without a
C++ compiler, Python does all of it, with the same result.
"""

from __future__ import annotations

import shutil
import sys
from contextlib import suppress

from compiler.instructions.native import engine as scheduler
from compiler.search.progress import Progress
from sim.cycle.native import engine as cycle_model
from sim.rtl.compiler import compiler_name
from sim.rtl.tools import SimulatorError

LIBRARIES = (cycle_model.LIBRARY, scheduler.LIBRARY)


SHORT = 500
"""The most turns (``Plan.turns``) of a program for which building the libraries is not worth its time."""


def prepare(told: Progress, turns: int) -> None:
    """Builds the libraries, if possible, before the first long program is timed."""
    if turns <= SHORT:
        return
    missing = [library for library in LIBRARIES if not library.is_built()]
    if missing and shutil.which(compiler_name(brief=True)) is None:
        return
    if missing:
        told("search: parts of the compiler are compiled, once on this computer")
    for library in missing:
        with suppress(SimulatorError):
            library.built()


def main() -> None:
    for library in LIBRARIES:
        try:
            print(library.built())
        except SimulatorError as error:
            print(f"{error}\nuntil then Python does the work of the {library.what}, and takes longer", file=sys.stderr)


if __name__ == "__main__":
    main()
