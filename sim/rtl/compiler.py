"""The C++ compiler that builds simulations, and the instructions of the processor that it may use."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Sequence
from functools import cache
from pathlib import Path

COMPILERS = ("clang++", "g++")
"""The first that is there, unless the environment's CXX names one. clang++ builds a machine in two thirds of g++'s time; whose
runs faster, by up to a tenth, depends on the processor (docs/performance.md)."""
LEVEL = "-march=x86-64-v3"
"""The third level of x86-64: shifts that leave the flags alone, and fields in one instruction, which is much of what Verilog
becomes (docs/performance.md has what that gives)."""
LEVEL_FLAGS = frozenset({"avx", "avx2", "bmi1", "bmi2", "f16c", "fma", "abm", "movbe", "xsave"})
"""What Linux names of a processor of that level beyond the second."""
PROCESSOR = Path("/proc/cpuinfo")


def compiler_name() -> str:
    """The C++ compiler of the simulations; g++ where none is found, which an error then asks for."""
    return os.environ.get("CXX") or next(filter(shutil.which, COMPILERS), COMPILERS[-1])


def is_clang(compiler: str) -> bool:
    return "clang" in first_line([compiler, "--version"])


def processor_options(compiler: str) -> tuple[str, ...]:
    """``LEVEL`` where both this processor and the compiler know it."""
    return (LEVEL,) if _has_level(PROCESSOR) and _accepts(shutil.which(compiler) or compiler) else ()


def first_line(command: Sequence[str]) -> str:
    return subprocess.run(command, capture_output=True, text=True, check=False).stdout.partition("\n")[0]


@cache
def _has_level(processor: Path) -> bool:
    try:
        flags = re.search(r"^flags\s*:(.*)$", processor.read_text(), re.MULTILINE)
    except OSError:  # not Linux
        return False
    return flags is not None and set(flags[1].split()) >= LEVEL_FLAGS


@cache
def _accepts(compiler: str) -> bool:
    command = [compiler, LEVEL, "-x", "c++", "-E", os.devnull]
    return subprocess.run(command, capture_output=True, check=False).returncode == 0
