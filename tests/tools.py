"""Programs of the system that give a second opinion: a test whose program is missing says so and is skipped."""

from __future__ import annotations

import shutil

import pytest

from sim.rtl.compiler import compiler_name

PACKAGES = {
    "iverilog": "iverilog", "yosys": "yosys", "readelf": "binutils", "gcc": "gcc",
    "riscv64-unknown-elf-gcc": "gcc-riscv64-unknown-elf", "tclsh": "tcl",
    "dtc": "device-tree-compiler",
}  # fmt: skip
"""The Debian package of each."""


def needs(tool: str) -> pytest.MarkDecorator:
    """For a test, or a parameter of one, that runs this program."""
    return pytest.mark.skipif(shutil.which(tool) is None, reason=f"{tool} is not installed: apt-get install {PACKAGES[tool]}")


needs_cxx = pytest.mark.skipif(
    shutil.which(compiler_name(brief=True)) is None, reason="no C++ compiler is installed: apt-get install clang, or g++"
)
"""For a test of what is compiled by the computer's own compiler."""
