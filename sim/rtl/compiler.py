"""The C++ compiler that builds simulations, and the instructions of the processor that it may use."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path

COMPILERS = ("clang++", "g++")
"""The compilers in the order of choice, unless the environment's CXX names one. clang++ builds faster, and for most processors
its code runs faster, too (docs/results/simulators.md)."""
SLOWER_BY_CLANG = (("AuthenticAMD", 26),)
"""The vendor and family of processors on which the code of g++ runs faster."""
LEVEL = "-march=x86-64-v3"
"""The third level of x86-64. It has shifts that leave the flags alone, and fields in one instruction, which is much of what
Verilog becomes (docs/results/simulators.md has the gain)."""
LEVEL_FLAGS = frozenset({"avx", "avx2", "bmi1", "bmi2", "f16c", "fma", "abm", "movbe", "xsave"})
"""Linux' names for the features of a processor of that level beyond the second."""
ONE_BUILD = "TILEWRIGHT_ONE_BUILD"
"""The environment variable with which all runs of a machine share one build, which has the AXI4 checker and suits short
programs."""
PROCESSOR = Path("/proc/cpuinfo")


def compiler_name(brief: bool = False) -> str:
    """The C++ compiler of the simulations. It is g++ where none is found, which an error then asks for.

    ``brief``: for runs that take less time than the build.
    """
    better = COMPILERS if brief or _kind(PROCESSOR) not in SLOWER_BY_CLANG else COMPILERS[::-1]
    return os.environ.get("CXX") or next(filter(shutil.which, better), "g++")


def one_build() -> bool:
    return bool(os.environ.get(ONE_BUILD))


def is_clang(compiler: str) -> bool:
    return "clang" in first_line([compiler, "--version"])


def processor_options(compiler: str) -> tuple[str, ...]:
    """The option ``LEVEL`` if both this processor and the compiler know it."""
    return (LEVEL,) if _has_level(PROCESSOR) and _accepts(shutil.which(compiler) or compiler) else ()


def first_line(command: Sequence[str]) -> str:
    return subprocess.run(command, capture_output=True, text=True, check=False).stdout.partition("\n")[0]


def _has_level(processor: Path) -> bool:
    return set(_told(processor).get("flags", "").split()) >= LEVEL_FLAGS


def _kind(processor: Path) -> tuple[str, int]:
    told = _told(processor)
    return told.get("vendor_id", ""), int(told.get("cpu family", -1))


@cache
def _told(processor: Path) -> Mapping[str, str]:
    """The properties of the first processor, as Linux tells them."""
    try:
        lines = processor.read_text().partition("\n\n")[0].splitlines()
    except OSError:  # not Linux
        return {}
    return {name.strip(): value.strip() for name, _, value in (line.partition(":") for line in lines)}


@cache
def _accepts(compiler: str) -> bool:
    command = [compiler, LEVEL, "-x", "c++", "-E", os.devnull]
    return subprocess.run(command, capture_output=True, check=False).returncode == 0
