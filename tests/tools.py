"""Programs and files that tests can do without: a test that lacks one is skipped, and says what is missing."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

from sim.rtl.compiler import compiler_name
from sim.synthesis.asic import LIBERTY
from soc.firmware import missing

ROOT = Path(__file__).parents[1]
PACKAGES = {
    "iverilog": "iverilog", "yosys": "yosys", "riscv64-unknown-elf-gcc": "gcc-riscv64-unknown-elf",
    "tclsh": "tcl", "sta": "opensta", "dtc": "device-tree-compiler", "chromium": "chromium",
}  # fmt: skip
"""The Debian package of each program."""
ALSO = {"chromium": ("google-chrome",)}
"""Programs that do as well."""
PICOLIBC = "picolibc-riscv64-unknown-elf"
HEADER = "onnxruntime_c_api.h"
INCLUDES = [
    Path(place)
    for place in (os.environ.get("ONNXRUNTIME_INCLUDE", ""), "/usr/include/onnxruntime", "/usr/local/include/onnxruntime")
    if place and (Path(place) / HEADER).exists()
]
"""Folders that hold onnxruntime's header."""


def path_of(tool: str) -> str | None:
    """The path of a program, or of one that does as well."""
    return next(filter(None, map(shutil.which, (tool, *ALSO.get(tool, ())))), None)


def needs(tool: str) -> pytest.MarkDecorator:
    """For a test, or a parameter of one, that runs this program."""
    return pytest.mark.skipif(path_of(tool) is None, reason=f"{tool} is not installed: apt-get install {PACKAGES[tool]}")


needs_cxx = pytest.mark.skipif(
    shutil.which(compiler_name(brief=True)) is None, reason="no C++ compiler is installed: apt-get install clang, or g++"
)
"""For a test of what is compiled by the computer's own compiler."""
needs_firmware = pytest.mark.skipif(bool(missing()), reason=f"{PICOLIBC} is not installed: apt-get install {PICOLIBC}")
"""For a test that makes firmware for RISC-V: the compiler comes with its library."""
needs_cells = pytest.mark.skipif(
    not LIBERTY.exists(), reason=f"{LIBERTY.name} is not installed: apt-get install qflow-tech-osu018"
)
"""For a test of standard cells."""
needs_onnxruntime_header = pytest.mark.skipif(
    not INCLUDES, reason=f"{HEADER} is not installed: unpack a release of onnxruntime, and set ONNXRUNTIME_INCLUDE"
)


def shared(folder: str, name: str = "") -> Path:
    """A file, or a whole folder, of ``../shared``; the test is skipped where that folder is missing."""
    found = next((parent / "shared" / folder for parent in ROOT.parents if (parent / "shared" / folder).is_dir()), None)
    if found is None:
        pytest.skip(f"../shared/{folder} is missing")
    return found / name
